/** Lock releases as far as they concern an order's versions: the key of a release begins with its version (LCK-1). */
import { TaskStatus } from '../domain/task-status.ts';
import type { Sql } from './sql.ts';

/** Neither SUCCESS nor CANCELLED; one that waits for a person counts. One range of the business key's index a version. */
export async function countUnfinishedReleases(sql: Sql, versionIds: readonly string[]): Promise<number> {
  if (versionIds.length === 0) return 0;
  const row = await sql.one<{ releases: string }>(
    `SELECT COUNT(*) releases FROM fi_async_task
      WHERE (${versionIds.map(() => 'business_key LIKE ?').join(' OR ')})
        AND stage = 'lock-release' AND status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING}, ${TaskStatus.FAILED})`,
    versionIds.map((id) => `LOCK\\_RELEASE:${id}:%`),
  );
  return Number(row.releases);
}
