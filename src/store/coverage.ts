/** Statements behind what a push is said to cover (COV rules). */
import type { PlaceGroup } from '../domain/funnel.ts';
import type { StationTaskCounts } from '../domain/station-outcome.ts';
import { Activation, TaskStatus } from '../domain/task-status.ts';
import { isoInstant } from './instant.ts';
import type { Sql } from './sql.ts';

export interface PlaceReading {
  readonly groups: readonly PlaceGroup[];
  /** The database's instant at which all of it was so; ISO 8601, UTC. */
  readonly asOf: string;
}

/** COV-2: one statement, so that no two numbers are of different instants. */
export async function readPlaces(sql: Sql, pushId: string): Promise<PlaceReading> {
  const rows = await sql.many<FlatGroup>(
    `SELECT NOW(3) asOf, held.* FROM (SELECT 1 one) always
       LEFT JOIN (SELECT place, left_at leftAt, reason, COUNT(*) rowCount, SUM(rent) amount
                    FROM pushed_row_place WHERE push_id = ? GROUP BY place, left_at, reason) held ON TRUE`,
    [pushId],
  );
  const groups = rows
    .filter((row) => row.place !== null)
    .map((row) => ({
      place: row.place!,
      leftAt: row.leftAt,
      reason: row.reason,
      rows: Number(row.rowCount),
      amount: row.amount!,
    }));
  return { groups, asOf: isoInstant(rows[0]!.asOf) };
}

/** Of the left join: all but `asOf` is null where the push has no rows. */
interface FlatGroup {
  readonly asOf: string;
  readonly place: number | null;
  readonly leftAt: number | null;
  readonly reason: string | null;
  readonly rowCount: string | null;
  readonly amount: string | null;
}

/** STA-18: the push's station tasks, by how far they are. */
export async function countStationTasks(sql: Sql, pushId: string): Promise<StationTaskCounts> {
  const row = await sql.one<{ total: string; inFirstAttempt: string | null; succeeded: string | null }>(
    `SELECT COUNT(*) total,
            SUM(status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING}) AND retry_count = 0 AND crash_count = 0
                AND activation = ${Activation.ACTIVE}) inFirstAttempt,
            SUM(status = ${TaskStatus.SUCCESS}) succeeded
       FROM fi_async_task WHERE push_id = ? AND stage = 'bill-station'`,
    [pushId],
  );
  return {
    total: Number(row.total),
    inFirstAttempt: Number(row.inFirstAttempt ?? 0),
    succeeded: Number(row.succeeded ?? 0),
  };
}
