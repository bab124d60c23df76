/**
 * The refresh of a whole partner: which months of its accounts, and under which identity (ACC-14). Its data names no
 * account: a partner may have a million, and the task's cursor finds them one after the other.
 */

export const FULL_REFRESH = 'PARTNER_PAYMENT_CYCLE_FULL_REFRESH';
const PAYLOAD_VERSION = 1;

export interface FullRefresh {
  readonly bulkType: typeof FULL_REFRESH;
  /** Not a fall-back of the exact strategy: a task has one of the two from the start (ACC-5). */
  readonly scopeStatusStrategy: 'CUTOFF_CHANGE';
  readonly payloadVersion: number;
  readonly changeId: string;
  readonly currentMonth: string;
  /** The last month that is refreshed, `YYYY-MM`. */
  readonly cutOffMonth: string;
}

export interface FullRefreshSource {
  readonly partnerOrgId: string;
  /** Of this one wish. */
  readonly requestId: string;
  readonly eventMonth: string;
  readonly cutOffMonth: string;
}

export function buildFullRefresh(source: FullRefreshSource): FullRefresh {
  return {
    bulkType: FULL_REFRESH,
    scopeStatusStrategy: 'CUTOFF_CHANGE',
    payloadVersion: PAYLOAD_VERSION,
    changeId: `${source.requestId}:${source.partnerOrgId}`,
    currentMonth: source.eventMonth,
    cutOffMonth: source.cutOffMonth,
  };
}

export function fullRefreshBusinessKey(partnerOrgId: string, refresh: FullRefresh): string {
  const { bulkType, changeId, currentMonth, payloadVersion, cutOffMonth } = refresh;
  return [bulkType, partnerOrgId, changeId, currentMonth, `v${payloadVersion}`, cutOffMonth].join('|');
}

/** A refresh takes over what those that it replaces had still to do, so it goes as far as the furthest of them (DIF-14). */
export function furthestCutOff(
  wished: string,
  replaced: readonly Pick<FullRefresh, 'cutOffMonth'>[],
): string {
  return [wished, ...replaced.map(({ cutOffMonth }) => cutOffMonth)].sort().at(-1)!;
}
