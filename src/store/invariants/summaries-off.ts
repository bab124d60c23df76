import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

const status = (name: string) => `COALESCE(SUM(status = '${name}'), 0)`;
/** A column of the monthly summary, and what it must be over the ledger (DIF-9). */
const SUMS: Readonly<Record<string, string>> = {
  difference_count: 'COUNT(*)',
  matched_count: status('MATCHED'),
  mismatched_count: status('MISMATCHED'),
  partner_only_count: status('PARTNER_ONLY'),
  platform_only_count: status('PLATFORM_ONLY'),
  partner_rent: 'SUM(partner_rent)',
  platform_rent: 'SUM(platform_rent)',
  diff_rent: 'SUM(diff_rent)',
};
const COLUMNS = Object.keys(SUMS);

/**
 * Summaries that are not the sums of their differences, and differences without a summary, of a range of project
 * companies. Both are put one below the other and added up, the ledger's as it is and the summary's negative.
 */
export function listSummariesOff(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['project_company_id'], range);
  const ledger = COLUMNS.map((column) => `${SUMS[column]} ${column}`).join(', ');
  const kept = COLUMNS.map((column) => `-${column}`).join(', ');
  const off = COLUMNS.map((column) => `SUM(u.${column}) ${column}`).join(', ');
  return reader.many<FoundRow>(
    `SELECT CONCAT(t.project_company_id, '/', t.share_month) targetId, ${TOTAL}, t.project_company_id projectCompanyId,
            t.share_month billYearMonth, ${COLUMNS.map((column) => `t.${column} ${column}_missing`).join(', ')}
       FROM (SELECT u.project_company_id, u.share_month, ${off} FROM (
               SELECT project_company_id, share_month, ${ledger} FROM fi_monthly_income_difference
                WHERE ${where.sql} GROUP BY project_company_id, share_month
                UNION ALL
               SELECT project_company_id, share_month, ${kept} FROM fi_project_income_difference WHERE ${where.sql}) u
              GROUP BY u.project_company_id, u.share_month) t
      WHERE ${COLUMNS.map((column) => `t.${column} <> 0`).join(' OR ')}
      ORDER BY t.project_company_id, t.share_month ${SHOWN}`,
    [...where.values, ...where.values],
  );
}
