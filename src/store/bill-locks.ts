/** Statements on the business locks that payments hold on station-months (DEC-4). */
import type { Sql } from './sql.ts';

export interface StationMonth {
  readonly platformStationId: string;
  readonly month: string;
}

export interface StationMonthLock extends StationMonth {
  readonly locked: boolean;
}

/**
 * Whether a live lock (RESERVED, ACTIVE) holds each of these. Every station-month that was asked for is answered by a
 * row of its own, so that silence is never taken for "free" (ING-4).
 */
export async function listLocksOf(sql: Sql, asked: readonly StationMonth[]): Promise<StationMonthLock[]> {
  if (asked.length === 0) return [];
  const rows = await sql.many<{ platformStationId: string; month: string; locked: number }>(
    `SELECT asked.platform_station_id platformStationId, asked.bill_year_month month,
            EXISTS (SELECT 1 FROM fi_resident_income_payment_bill_lock held
                     WHERE held.platform_station_id = asked.platform_station_id
                       AND held.bill_year_month = asked.bill_year_month
                       AND held.lock_status IN ('RESERVED', 'ACTIVE')) locked
       FROM JSON_TABLE(?, '$[*]' COLUMNS (
              platform_station_id BIGINT UNSIGNED PATH '$[0]',
              bill_year_month CHAR(7) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]')) asked`,
    [JSON.stringify(asked.map((one) => [one.platformStationId, one.month]))],
  );
  return rows.map((row) => ({ ...row, locked: Number(row.locked) === 1 }));
}
