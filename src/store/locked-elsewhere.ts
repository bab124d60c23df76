/** `NOWAIT` found a row locked: MySQL says 3572, MariaDB a lock wait of no length (1205). */
const NOWAIT_ERRNOS: ReadonlySet<number> = new Set([3572, 1205]);

export function isLockedElsewhere(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && NOWAIT_ERRNOS.has(Number(error.errno));
}
