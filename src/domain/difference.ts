/** The difference of both sides of a station-month (DIF-7): five amounts, a tolerance, a status. */
import { type Amount, amount, moneyText } from './money.ts';

export const COMPARED = ['settlement', 'rent', 'preRent', 'freeze', 'deduction'] as const;
export type Compared = (typeof COMPARED)[number];
export type SideAmounts = Readonly<Record<Compared, string>>;

export type DifferenceStatus = 'MATCHED' | 'MISMATCHED' | 'PARTNER_ONLY' | 'PLATFORM_ONLY';

const NOTHING: SideAmounts = {
  settlement: '0.00',
  rent: '0.00',
  preRent: '0.00',
  freeze: '0.00',
  deduction: '0.00',
};

export interface Comparison {
  readonly partner: SideAmounts;
  readonly platform: SideAmounts;
  /** partner − platform */
  readonly difference: SideAmounts;
  readonly status: DifferenceStatus;
  readonly bothSidesReady: boolean;
}

/**
 * @param partner null where that side has no bill; a missing side counts 0 (DEC-6)
 * @param tolerance absolute CNY per compared amount, inclusive
 */
export function compareSides(
  partner: SideAmounts | null,
  platform: SideAmounts | null,
  tolerance: string,
): Comparison {
  const ours = platform ?? NOTHING;
  const theirs = partner ?? NOTHING;
  const deltas = new Map(COMPARED.map((name) => [name, amount(theirs[name]).minus(amount(ours[name]))]));
  return {
    partner: theirs,
    platform: ours,
    difference: Object.fromEntries([...deltas].map(([name, delta]) => [name, moneyText(delta)])) as Record<
      Compared,
      string
    >,
    status: statusOf(partner !== null, platform !== null, [...deltas.values()], amount(tolerance)),
    bothSidesReady: partner !== null && platform !== null,
  };
}

/** DEC-7: with no side left the row stays, all 0, MATCHED. */
function statusOf(
  hasPartner: boolean,
  hasPlatform: boolean,
  deltas: readonly Amount[],
  tolerance: Amount,
): DifferenceStatus {
  if (hasPartner && !hasPlatform) return 'PARTNER_ONLY';
  if (!hasPartner && hasPlatform) return 'PLATFORM_ONLY';
  return deltas.every((delta) => delta.abs().lessThanOrEqualTo(tolerance)) ? 'MATCHED' : 'MISMATCHED';
}
