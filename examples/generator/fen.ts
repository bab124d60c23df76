/** Money in whole fen (1/100 CNY): integers stay exact, in files and in sums. */
export type Fen = number;

export function yuan(fen: Fen): string {
  const digits = String(Math.abs(fen)).padStart(3, '0');
  return `${fen < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

export function yuanOrNothing(fen: Fen): string | undefined {
  return fen === 0 ? undefined : yuan(fen);
}
