import { COMPARED, type Compared } from '../../domain/difference.ts';
import { TaskStatus } from '../../domain/task-status.ts';
import { placesNamed } from '../place-lists.ts';
import { isPlatformChange, isPlatformChangeDue } from '../platform-changes.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { NOT_IN_LEDGER, placeOfBill } from './work-under-way.ts';

/** What is compared (DIF-7): the ledger's columns after their side, and the bills'. */
const COLUMNS: Readonly<Record<Compared, readonly [ledger: string, bill: string]>> = {
  settlement: ['settlement', 'settlement_amount'],
  rent: ['rent', 'rent'],
  preRent: ['pre_rent', 'pre_rent'],
  freeze: ['freeze', 'freeze_amount'],
  deduction: ['deduction', 'deduction_amount'],
};
const each = (condition: (ledger: string, bill: string) => string) =>
  COMPARED.map((name) => condition(...(COLUMNS[name] as [string, string]))).join(' AND ');

/** The side says what the bill says; without a bill it is nothing (DEC-6, DEC-7). */
const sideFits = (side: 'partner' | 'platform', bill: string) =>
  `(d.${side}_bill_id <=> ${bill}.id AND ${each((ledger, column) => `d.${side}_${ledger} = COALESCE(${bill}.${column}, 0)`)})`;

const PARTNER_FITS = `(${sideFits('partner', 'b')} AND (b.id IS NULL OR d.accept_no = b.accept_no))`;
const COMPARISON_FITS = `(${each((ledger) => `d.diff_${ledger} = d.partner_${ledger} - d.platform_${ledger}`)}
    AND d.both_sides_ready = (d.partner_bill_id IS NOT NULL AND d.platform_bill_id IS NOT NULL)
    AND (d.status = 'PARTNER_ONLY') = (d.partner_bill_id IS NOT NULL AND d.platform_bill_id IS NULL)
    AND (d.status = 'PLATFORM_ONLY') = (d.partner_bill_id IS NULL AND d.platform_bill_id IS NOT NULL))`;

/** The message of the partner's bill will come, or failed and waits for a person: it reads both sides anew. */
const MESSAGE_DUE = `COALESCE(w.place IN (${placesNamed(['DIFF_PENDING', 'DIFF_FAILED'])}), 0)`;
const keysOf = (table: string, station: string, month: string) => ({
  partner: `${table}.partner_org_id`,
  station: `${table}.${station}`,
  month: `${table}.${month}`,
});

/**
 * Differences whose sides are not what the bills are now, or whose comparison is not that of its sides, although nothing is
 * under way that would bring them there. Which tolerance a status was judged by is not kept (DEC-15).
 */
export function listLedgerSidesOff(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['d.id'], range);
  return reader.many<FoundRow>(
    `SELECT d.id targetId, ${TOTAL}, d.partner_org_id partnerOrgId, d.station_id platformStationId,
            d.share_month billYearMonth, d.status, d.partner_bill_id partnerBillId, d.partner_rent partnerRent,
            b.rent partnerBillRent, d.platform_bill_id platformBillId, d.platform_rent platformRent,
            ours.id platformBillNow, ours.rent platformBillRent, w.push_id pushId, w.row_no rowNo, w.place
       FROM fi_monthly_income_difference d
       LEFT JOIN fi_customer_bill_partner b ON b.id = d.partner_bill_id AND b.del_flag = 0
       LEFT JOIN ${placeOfBill('b', 'w')}
       LEFT JOIN (fi_customer_account a JOIN fi_customer_bill ours ON ours.customer_account_id = a.id AND ours.del_flag = 0)
         ON a.partner_org_id = d.partner_org_id AND a.small_station_id = d.station_id AND a.del_flag = 0
        AND ours.bill_year_month = d.share_month
      WHERE ${where.sql} AND NOT ${MESSAGE_DUE}
        AND (NOT ${sideFits('platform', 'ours')} OR NOT ${COMPARISON_FITS}
             OR (NOT ${PARTNER_FITS} AND NOT COALESCE(w.place IN (${NOT_IN_LEDGER}), 0)))
        AND NOT ${isPlatformChangeDue(keysOf('d', 'station_id', 'share_month'))}
      ORDER BY d.id ${SHOWN}`,
    where.values,
  );
}

/**
 * Our bills of which the ledger has never heard, because the message that would have brought them was cancelled. A bill
 * that came into the database without a message waits for the partner's, and is no finding.
 */
export function listPlatformBillsGivenUp(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['ours.id'], range);
  const keys = keysOf('ours', 'small_station_id', 'bill_year_month');
  return reader.many<FoundRow>(
    `SELECT ours.id targetId, ${TOTAL}, ours.partner_org_id partnerOrgId, ours.small_station_id platformStationId,
            ours.bill_year_month billYearMonth, ours.rent
       FROM fi_customer_bill ours
       LEFT JOIN fi_monthly_income_difference d ON d.partner_org_id = ours.partner_org_id
         AND d.station_id = ours.small_station_id AND d.share_month = ours.bill_year_month
      WHERE ${where.sql} AND ours.del_flag = 0 AND d.id IS NULL
        AND ${isPlatformChange(keys, [TaskStatus.CANCELLED])} AND NOT ${isPlatformChangeDue(keys)}
      ORDER BY ours.id ${SHOWN}`,
    where.values,
  );
}
