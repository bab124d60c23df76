/** What decides which push of a bill is the later one (STA-11): (dataVersion, acceptNo), dataVersion 0 where a partner is not versioned. */
export interface OrderNumber {
  readonly dataVersion: string;
  readonly acceptNo: string;
}

export function isLater(left: OrderNumber, right: OrderNumber): boolean {
  const byVersion = BigInt(left.dataVersion) - BigInt(right.dataVersion);
  return byVersion === 0n ? BigInt(left.acceptNo) > BigInt(right.acceptNo) : byVersion > 0n;
}
