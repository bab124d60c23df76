/** What a push had come to when the removal of its rows began (RET-1): from then on this is what is told of it. */
import type { PlaceGroup } from '../domain/funnel.ts';
import type { StationTaskCounts } from '../domain/station-outcome.ts';
import { isoInstant } from './instant.ts';
import type { Sql } from './sql.ts';

export interface KeptCoverage {
  readonly groups: readonly PlaceGroup[];
  /** ISO 8601, UTC. */
  readonly asOf: string;
  readonly stations: StationTaskCounts;
  readonly retiredAt: string;
}

/**
 * Null while the push has its rows. Whoever reads rows asks this afterwards: retirement is committed before the first row
 * goes, so a reading that lacked rows finds it.
 */
export async function findKeptCoverage(sql: Sql, pushId: string): Promise<KeptCoverage | null> {
  const row = await sql.maybeOne<{ kept: Omit<KeptCoverage, 'retiredAt'>; retiredAt: string }>(
    'SELECT kept_coverage kept, retired_at retiredAt FROM partner_push WHERE push_id = ? AND retired_at IS NOT NULL',
    [pushId],
  );
  return row === null ? null : { ...row.kept, retiredAt: isoInstant(row.retiredAt) };
}
