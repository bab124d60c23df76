/** Statements on partners as operators see and change them. */
import type { StageName } from '../domain/stage.ts';
import { hitsUniqueKey } from './duplicate-key.ts';
import type { Sql, SqlValue } from './sql.ts';

export type PaymentFlow = 'ENABLED' | 'DISABLED';

/** What an operator may change of a partner. */
export interface PartnerSettings {
  readonly paused: boolean;
  /** Caps that differ from the stages' defaults. */
  readonly caps: Partial<Record<StageName, number>>;
  /** Null: not resolved yet (DIF-6). */
  readonly paymentFlow: PaymentFlow | null;
  readonly tolerance: string;
}

export interface PartnerRow extends PartnerSettings {
  readonly partnerOrgId: string;
  readonly orgCode: string;
  readonly name: string;
  readonly versioned: boolean;
  readonly createTime: string;
  readonly updateTime: string;
}

interface StoredPartner extends Omit<PartnerRow, 'paused' | 'versioned' | 'caps'> {
  readonly paused: number;
  readonly versioned: number;
  readonly caps: Partial<Record<StageName, number>> | null;
}

const COLUMNS = `partner_org_id partnerOrgId, org_code orgCode, name, payment_flow paymentFlow, versioned, tolerance, paused,
  caps, create_time createTime, update_time updateTime`;

export async function findPartner(sql: Sql, partnerOrgId: string): Promise<PartnerRow | null> {
  const row = await sql.maybeOne<StoredPartner>(`SELECT ${COLUMNS} FROM partner WHERE partner_org_id = ?`, [
    partnerOrgId,
  ]);
  return row === null ? null : toPartner(row);
}

/** To the end of the transaction: whoever changes a partner, or its keys, comes after the other. */
export async function lockPartner(sql: Sql, partnerOrgId: string): Promise<PartnerRow | null> {
  const row = await sql.maybeOne<StoredPartner>(
    `SELECT ${COLUMNS} FROM partner WHERE partner_org_id = ? FOR UPDATE`,
    [partnerOrgId],
  );
  return row === null ? null : toPartner(row);
}

/** By id, ascending. */
export async function listPartners(
  sql: Sql,
  page: { afterId: string | null; limit: number },
): Promise<PartnerRow[]> {
  const rows = await sql.many<StoredPartner>(
    `SELECT ${COLUMNS} FROM partner WHERE partner_org_id > ? ORDER BY partner_org_id LIMIT ${page.limit}`,
    [page.afterId ?? '0'],
  );
  return rows.map(toPartner);
}

export type NewPartner = Omit<PartnerRow, 'createTime' | 'updateTime' | 'paused'>;

/** @returns false where the id or the organisation code is taken */
export async function insertPartnerIfNew(sql: Sql, partner: NewPartner): Promise<boolean> {
  const values: SqlValue[] = [
    partner.partnerOrgId,
    partner.orgCode,
    partner.name,
    partner.paymentFlow,
    partner.versioned ? 1 : 0,
    partner.tolerance,
    capsJson(partner.caps),
  ];
  return !(await hitsUniqueKey(() =>
    sql.change(
      `INSERT INTO partner (partner_org_id, org_code, name, payment_flow, versioned, tolerance, caps)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      values,
    ),
  ));
}

export async function updatePartnerSettings(
  sql: Sql,
  partnerOrgId: string,
  settings: PartnerSettings,
): Promise<void> {
  const { paused, caps, paymentFlow, tolerance } = settings;
  await sql.changeExactly(
    1,
    'changing a partner',
    `UPDATE partner SET paused = ?, caps = ?, payment_flow = ?, tolerance = ?, update_time = NOW(3)
      WHERE partner_org_id = ?`,
    [paused ? 1 : 0, capsJson(caps), paymentFlow, tolerance, partnerOrgId],
  );
}

function capsJson(caps: PartnerSettings['caps']): string | null {
  return Object.keys(caps).length === 0 ? null : JSON.stringify(caps);
}

function toPartner(row: StoredPartner): PartnerRow {
  return { ...row, paused: row.paused === 1, versioned: row.versioned === 1, caps: row.caps ?? {} };
}
