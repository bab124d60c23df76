/** Slots for people: who may work for whom at this moment (ENG-5). */
import type { StageName } from '../domain/stage.ts';
import { type Condition, equalities } from './list-page.ts';
import type { SlotKey, SlotView } from './slots.ts';
import type { Sql } from './sql.ts';

/** Null: any. */
export interface SlotFilter {
  readonly stage: StageName | null;
  readonly partnerOrgId: string | null;
  /** Only those that somebody holds. */
  readonly held: boolean;
}

/** By stage, partner and number: the table is small, and its key is its order. */
export async function listSlotsAfter(
  sql: Sql,
  filter: SlotFilter,
  page: { after: SlotKey | null; limit: number },
): Promise<SlotView[]> {
  const { after } = page;
  const conditions: Condition[] = equalities({ stage: filter.stage, partner_org_id: filter.partnerOrgId });
  if (filter.held) conditions.push({ sql: 'holder IS NOT NULL', values: [] });
  if (after !== null) {
    const values = [after.stage, after.partnerOrgId, after.slotNo];
    conditions.push({ sql: '(stage, partner_org_id, slot_no) > (?, ?, ?)', values });
  }
  const where =
    conditions.length === 0 ? '' : `WHERE ${conditions.map((condition) => condition.sql).join(' AND ')}`;
  const rows = await sql.many<Omit<SlotView, 'expired'> & { expired: string }>(
    `SELECT stage, partner_org_id partnerOrgId, slot_no slotNo, holder, fence, lease_end leaseEnd,
            (holder IS NOT NULL AND lease_end <= SYSDATE(3)) expired, task_ids taskIds, taken_at takenAt, retired
       FROM stage_slot ${where} ORDER BY stage, partner_org_id, slot_no LIMIT ${page.limit}`,
    conditions.flatMap((condition) => [...condition.values]),
  );
  return rows.map((row) => ({ ...row, expired: Number(row.expired) === 1 }));
}
