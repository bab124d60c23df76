/** How long stations waited, from acceptance until their bills were written, and what promise 5 allows beside a flood. */
import type { Store } from '../../src/store/transaction.ts';

/** Promised: within twice the waiting time without the flood, or half a second more. */
const FACTOR_MAX = 2;
const ALLOWANCE_MS = 500;

/** In ms. */
export interface Waits {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

export async function waitsOf(store: Store, pushIds: readonly string[]): Promise<Waits> {
  const rows = await store.many<{ us: string }>(
    `SELECT TIMESTAMPDIFF(MICROSECOND, create_time, finished_time) us FROM fi_async_task
      WHERE stage = 'bill-station' AND push_id IN (?)`,
    [pushIds],
  );
  const sorted = rows.map((row) => Number(row.us) / 1_000).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]!;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** The longest 95th percentile that is allowed beside a flood. */
export function promised({ p95 }: Waits): number {
  return Math.max(FACTOR_MAX * p95, p95 + ALLOWANCE_MS);
}

export function figuresOf({ p50, p95, max }: Waits): string {
  return [p50, p95, max].map((ms) => ms.toFixed(0)).join(', ');
}
