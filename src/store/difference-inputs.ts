/** What the difference stage reads, in the order of DIF-5: partner's configuration, both sides' accounts and bills. */
import type { Sql } from './sql.ts';

export interface PartnerTerms {
  readonly partnerOrgId: string;
  /** ENABLED, DISABLED, or null: unresolved, never read as disabled (DIF-6). */
  readonly paymentFlow: 'ENABLED' | 'DISABLED' | null;
  readonly tolerance: string;
}

export async function findPartnerTerms(sql: Sql, partnerOrgId: string): Promise<PartnerTerms | null> {
  return sql.maybeOne<PartnerTerms>(
    `SELECT partner_org_id partnerOrgId, payment_flow paymentFlow, tolerance FROM partner WHERE partner_org_id = ?`,
    [partnerOrgId],
  );
}

export interface PartnerBillSide {
  readonly billId: string;
  /** Null where the account is missing: the message fails (DIF-5). */
  readonly accountId: string | null;
  readonly billYearMonth: string;
  readonly settlement: string;
  readonly rent: string;
  readonly preRent: string;
  readonly freeze: string;
  readonly deduction: string;
  readonly partnerQueryStatus: string | null;
  readonly pushId: string;
  readonly acceptNo: string;
  readonly dataVersion: string;
}

/** As they are now; missing amounts count 0 (DEC-6). */
const PARTNER_BILL_SIDE = `b.id billId, a.id accountId, b.bill_year_month billYearMonth,
            COALESCE(b.settlement_amount, 0.00) settlement, b.rent, COALESCE(b.pre_rent, 0.00) preRent,
            COALESCE(b.freeze_amount, 0.00) freeze, COALESCE(b.deduction_amount, 0.00) deduction,
            b.partner_query_status partnerQueryStatus, b.push_id pushId, b.accept_no acceptNo, b.data_version dataVersion`;

export async function listPartnerBillSides(sql: Sql, billIds: readonly string[]): Promise<PartnerBillSide[]> {
  if (billIds.length === 0) return [];
  return sql.many<PartnerBillSide>(
    `SELECT ${PARTNER_BILL_SIDE}
       FROM fi_customer_bill_partner b
       LEFT JOIN fi_customer_account_partner a ON a.id = b.customer_account_id AND a.del_flag = 0
      WHERE b.id IN (?)`,
    [billIds],
  );
}

/** Of these stations of the partner in these months. */
export async function listPartnerBillSidesOfMonths(
  sql: Sql,
  partnerOrgId: string,
  partnerStationNos: readonly string[],
  months: readonly string[],
): Promise<(PartnerBillSide & { readonly partnerStationNo: string })[]> {
  if (partnerStationNos.length === 0 || months.length === 0) return [];
  return sql.many<PartnerBillSide & { readonly partnerStationNo: string }>(
    `SELECT ${PARTNER_BILL_SIDE}, owner.partner_station_no partnerStationNo
       FROM fi_customer_account_partner owner
       JOIN fi_customer_bill_partner b ON b.customer_account_id = owner.id AND b.del_flag = 0
       LEFT JOIN fi_customer_account_partner a ON a.id = owner.id AND a.del_flag = 0
      WHERE owner.partner_org_id = ? AND owner.partner_station_no IN (?) AND b.bill_year_month IN (?)`,
    [partnerOrgId, partnerStationNos, months],
  );
}

/** By the partner's station number; a station without an account is not in it. */
export async function listPartnerAccountIds(
  sql: Sql,
  partnerOrgId: string,
  partnerStationNos: readonly string[],
): Promise<Map<string, string>> {
  if (partnerStationNos.length === 0) return new Map();
  const rows = await sql.many<{ id: string; partnerStationNo: string }>(
    `SELECT id, partner_station_no partnerStationNo FROM fi_customer_account_partner
      WHERE partner_org_id = ? AND partner_station_no IN (?) AND del_flag = 0`,
    [partnerOrgId, partnerStationNos],
  );
  return new Map(rows.map((row) => [row.partnerStationNo, row.id]));
}

export interface PlatformAccountId {
  readonly accountId: string;
  readonly platformStationId: string;
}

/** All of them: more than one for a station is a duplicate, of which none is picked (DIF-11). */
export async function listPlatformAccounts(
  sql: Sql,
  partnerOrgId: string,
  platformStationIds: readonly string[],
): Promise<PlatformAccountId[]> {
  if (platformStationIds.length === 0) return [];
  return sql.many<PlatformAccountId>(
    `SELECT id accountId, small_station_id platformStationId FROM fi_customer_account
      WHERE partner_org_id = ? AND small_station_id IN (?) AND del_flag = 0 ORDER BY id`,
    [partnerOrgId, platformStationIds],
  );
}

export interface PlatformBillSide {
  readonly billId: string;
  readonly accountId: string;
  readonly platformStationId: string;
  readonly billYearMonth: string;
  readonly settlement: string;
  readonly rent: string;
  readonly preRent: string;
  readonly freeze: string;
  readonly deduction: string;
}

export async function listPlatformBillSides(
  sql: Sql,
  accountIds: readonly string[],
  months: readonly string[],
): Promise<PlatformBillSide[]> {
  if (accountIds.length === 0 || months.length === 0) return [];
  return sql.many<PlatformBillSide>(
    `SELECT id billId, customer_account_id accountId, small_station_id platformStationId, bill_year_month billYearMonth,
            COALESCE(settlement_amount, 0.00) settlement, rent, COALESCE(pre_rent, 0.00) preRent,
            COALESCE(freeze_amount, 0.00) freeze, COALESCE(deduction_amount, 0.00) deduction
       FROM fi_customer_bill WHERE customer_account_id IN (?) AND bill_year_month IN (?) AND del_flag = 0`,
    [accountIds, months],
  );
}
