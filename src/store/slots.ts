/** Statements on `stage_slot`: a partner's rights to work at a stage (ENG-5). */
import type { StageName } from '../domain/stage.ts';
import type { Sql } from './sql.ts';

export interface SlotKey {
  readonly stage: StageName;
  readonly partnerOrgId: string;
  readonly slotNo: number;
}

/** A slot as held: whoever shows holder and fence, in lease, may work; nobody else. */
export interface SlotRight extends SlotKey {
  readonly holder: string;
  readonly fence: string;
}

interface FreeSlot {
  readonly holder: string | null;
  readonly fence: string;
  readonly taskIds: readonly string[] | null;
  readonly retired: number;
}

const BY_KEY = 'stage = ? AND partner_org_id = ? AND slot_no = ?';
const keyOf = (slot: SlotKey) => [slot.stage, slot.partnerOrgId, slot.slotNo];

/**
 * Locks the slot if nobody holds it or its lease is over; null if it is held, locked (its holder is at work: locked
 * means taken) or not there. `SYSDATE`, since `NOW` is the statement's start, before it waited.
 */
export async function lockSlotIfFree(sql: Sql, slot: SlotKey): Promise<FreeSlot | null> {
  return sql.maybeOne<FreeSlot>(
    `SELECT holder, fence, task_ids taskIds, retired FROM stage_slot
      WHERE ${BY_KEY} AND (holder IS NULL OR lease_end <= SYSDATE(3)) FOR UPDATE SKIP LOCKED`,
    keyOf(slot),
  );
}

/** Of a slot that this transaction has locked: a new holder, a higher fence, a fresh lease. */
export async function takeLockedSlot(sql: Sql, right: SlotRight, leaseMs: number): Promise<void> {
  await sql.changeExactly(
    1,
    'taking a slot',
    `UPDATE stage_slot SET holder = ?, fence = ?, lease_end = SYSDATE(3) + INTERVAL ? MICROSECOND, taken_at = SYSDATE(3),
            task_ids = NULL
      WHERE ${BY_KEY} AND fence < ?`,
    [right.holder, right.fence, leaseMs * 1000, ...keyOf(right), right.fence],
  );
}

/** What a held slot says of itself: the batch in hand, and the lease that the last commit under this right wrote. */
export interface SlotInHand {
  readonly taskIds: readonly string[];
  readonly leaseEnd: string;
}

const BY_HOLDER = `${BY_KEY} AND holder = ? AND fence = ?`;
const holderOf = (right: SlotRight) => [...keyOf(right), right.holder, right.fence];

/**
 * ENG-9: the first statement of all work that writes. The row is locked to the end of the transaction, and that lock is
 * the right, however long the work takes. Null: fenced. A lease that ends now is over.
 */
export async function lockSlotInHand(sql: Sql, right: SlotRight): Promise<SlotInHand | null> {
  return inHand(
    await sql.maybeOne<StoredInHand>(
      `SELECT task_ids taskIds, lease_end leaseEnd FROM stage_slot
        WHERE ${BY_HOLDER} AND lease_end > SYSDATE(3) FOR UPDATE`,
      holderOf(right),
    ),
  );
}

/**
 * ACC-2: of a slot that this transaction has locked as held: whether it names the task. A slot that has been taken for
 * another task is no right to this one.
 */
export async function lockSlotWithTask(sql: Sql, right: SlotRight, taskId: string): Promise<boolean> {
  const slot = await sql.maybeOne(
    `SELECT slot_no FROM stage_slot WHERE ${BY_HOLDER} AND JSON_CONTAINS(task_ids, JSON_QUOTE(?)) FOR UPDATE`,
    [...holderOf(right), taskId],
  );
  return slot !== null;
}

/** As `lockSlotInHand`, for work that need not know what else is in hand. */
export async function lockSlotIfHeld(sql: Sql, right: SlotRight): Promise<boolean> {
  return (await lockSlotInHand(sql, right)) !== null;
}

/**
 * For giving back alone: a lease that is over is still one's own while nobody has taken the slot, and whoever can give
 * it back has not crashed. Null: another has it, or it is gone.
 */
export async function lockOwnSlot(sql: Sql, right: SlotRight): Promise<SlotInHand | null> {
  return inHand(
    await sql.maybeOne<StoredInHand>(
      `SELECT task_ids taskIds, lease_end leaseEnd FROM stage_slot WHERE ${BY_HOLDER} FOR UPDATE`,
      holderOf(right),
    ),
  );
}

interface StoredInHand {
  readonly taskIds: readonly string[] | null;
  readonly leaseEnd: string;
}

function inHand(row: StoredInHand | null): SlotInHand | null {
  return row === null ? null : { taskIds: row.taskIds ?? [], leaseEnd: row.leaseEnd };
}

/**
 * The last write of every claim and work transaction: no timer renews a slot (ENG-5). Each such commit leaves a later
 * lease than it found, so that one whose answer was lost can be told from one that was not made.
 */
export async function extendSlotIfHeld(
  sql: Sql,
  right: SlotRight,
  leaseMs: number,
  taskIds: readonly string[],
): Promise<void> {
  await sql.changeExactly(
    1,
    'extending a slot',
    `UPDATE stage_slot
        SET lease_end = GREATEST(SYSDATE(3) + INTERVAL ? MICROSECOND, lease_end + INTERVAL 1000 MICROSECOND), task_ids = ?
      WHERE ${BY_HOLDER}`,
    [leaseMs * 1000, JSON.stringify(taskIds), ...holderOf(right)],
  );
}

/** Gives the slot back; a retired one is removed. False: it was another's already. */
export async function releaseSlotIfHeld(sql: Sql, right: SlotRight): Promise<boolean> {
  const released = await sql.change(
    `UPDATE stage_slot SET holder = NULL, lease_end = NULL, task_ids = NULL WHERE ${BY_HOLDER}`,
    holderOf(right),
  );
  await sql.change(`DELETE FROM stage_slot WHERE ${BY_KEY} AND retired = 1 AND holder IS NULL`, keyOf(right));
  return released === 1;
}

export async function removeLockedSlot(sql: Sql, slot: SlotKey): Promise<void> {
  await sql.changeExactly(
    1,
    'removing a retired slot',
    `DELETE FROM stage_slot WHERE ${BY_KEY}`,
    keyOf(slot),
  );
}

/** Of a new slot: the database's time, so that a slot made anew never gives out a fence that it gave out before. */
const FIRST_FENCE = 'CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS UNSIGNED)';

/**
 * Makes the partner's slots 1…cap of a stage exist and retires those above (a lowered cap). Rows that are as they
 * should be are read only: their holders may be at work, which locks them.
 */
export async function setSlotCount(
  sql: Sql,
  stage: StageName,
  partnerOrgId: string,
  cap: number,
): Promise<void> {
  const there = await sql.many<{ slotNo: number; retired: number }>(
    'SELECT slot_no slotNo, retired FROM stage_slot WHERE stage = ? AND partner_org_id = ?',
    [stage, partnerOrgId],
  );
  const inUse = new Set(there.filter((slot) => slot.retired === 0).map((slot) => slot.slotNo));
  const wanted = Array.from({ length: cap }, (_, index) => index + 1).filter((slotNo) => !inUse.has(slotNo));
  const surplus = there.map((slot) => slot.slotNo).filter((slotNo) => slotNo > cap);
  if (wanted.length > 0) {
    await sql.change(
      `INSERT INTO stage_slot (stage, partner_org_id, slot_no, fence)
       VALUES ${wanted.map(() => `(?, ?, ?, ${FIRST_FENCE})`).join(', ')}
       ON DUPLICATE KEY UPDATE retired = 0`,
      wanted.flatMap((slotNo) => [stage, partnerOrgId, slotNo]),
    );
  }
  if (surplus.length > 0) await retireSlots(sql, stage, partnerOrgId, surplus);
}

/** Free ones go at once; a held one is removed by its holder, or by whoever rescues its tasks. */
async function retireSlots(
  sql: Sql,
  stage: StageName,
  partnerOrgId: string,
  slotNos: readonly number[],
): Promise<void> {
  const key = [stage, partnerOrgId, slotNos];
  const these = 'stage = ? AND partner_org_id = ? AND slot_no IN (?)';
  await sql.change(`UPDATE stage_slot SET retired = 1 WHERE ${these}`, key);
  await sql.change(`DELETE FROM stage_slot WHERE ${these} AND holder IS NULL`, key);
}

export interface SlotView extends SlotKey {
  readonly holder: string | null;
  readonly fence: string;
  readonly leaseEnd: string | null;
  /** Held, and the lease is over. */
  readonly expired: boolean;
  readonly taskIds: readonly string[] | null;
  readonly takenAt: string | null;
  readonly retired: number;
}

/** For people: who may do what at this moment. */
export async function listSlots(sql: Sql, limit: number): Promise<SlotView[]> {
  const rows = await sql.many<Omit<SlotView, 'expired'> & { expired: string }>(
    `SELECT stage, partner_org_id partnerOrgId, slot_no slotNo, holder, fence, lease_end leaseEnd,
            (holder IS NOT NULL AND lease_end <= SYSDATE(3)) expired, task_ids taskIds, taken_at takenAt, retired
       FROM stage_slot ORDER BY stage, partner_org_id, slot_no LIMIT ${limit}`,
  );
  return rows.map((row) => ({ ...row, expired: Number(row.expired) === 1 }));
}

export interface WakeCandidate extends SlotKey {
  readonly fence: string;
  /** Held, and the lease is over. Else it is free. */
  readonly dead: boolean;
}

/**
 * ENG-7: slots that someone should be woken for: one that died, or a free one whose partner has due work, or at the
 * difference stage hand-overs without a segment (STA-17); of what is paused only those that died. Starts from the small
 * slot table; the correlated look at the claiming index reads one entry a row (a GROUP BY took 100 times as long).
 */
export async function listWakeCandidates(sql: Sql): Promise<WakeCandidate[]> {
  const rows = await sql.many<SlotKey & { fence: string; holder: string | null }>(
    `SELECT s.stage, s.partner_org_id partnerOrgId, s.slot_no slotNo, s.fence, s.holder
       FROM stage_slot s
      WHERE (s.holder IS NOT NULL AND s.lease_end <= SYSDATE(3))
         OR (s.holder IS NULL
             AND NOT EXISTS (SELECT 1 FROM stage_control c WHERE c.stage = s.stage AND c.paused = 1)
             AND NOT EXISTS (SELECT 1 FROM partner p WHERE p.partner_org_id = s.partner_org_id AND p.paused = 1)
             AND ((SELECT t.next_execute_time FROM fi_async_task t FORCE INDEX (idx_task_claim)
                    WHERE t.claimable = 1 AND t.stage = s.stage AND t.partner_org_id = s.partner_org_id
                    ORDER BY t.next_execute_time LIMIT 1) <= NOW(3)
                  OR (s.stage = 'income-diff' AND EXISTS (
                       SELECT 1 FROM income_diff_handover h
                        WHERE h.partner_org_id = s.partner_org_id AND h.message_task_id = 0))))
      ORDER BY s.stage, s.partner_org_id, s.slot_no`,
  );
  return rows.map(({ holder, ...slot }) => ({ ...slot, dead: holder !== null }));
}

export type Lane = Pick<SlotKey, 'stage' | 'partnerOrgId'>;

/**
 * Partners and stages without a single slot, a retired one included. Partner 0, who owns work that belongs to nobody, is
 * looked at only where there is such work.
 */
export async function listLanesWithoutSlots(
  sql: Sql,
  where: { readonly stages: readonly StageName[]; readonly limit: number },
): Promise<Lane[]> {
  const stages = JSON.stringify(where.stages);
  return sql.many<Lane>(
    `SELECT v.stage, p.partner_org_id partnerOrgId
       FROM (SELECT partner_org_id FROM partner UNION ALL SELECT 0) p
       JOIN JSON_TABLE(?, '$[*]' COLUMNS (stage VARCHAR(32) CHARACTER SET utf8mb4 PATH '$')) v
      WHERE NOT EXISTS (SELECT 1 FROM stage_slot s
                         WHERE s.stage = v.stage COLLATE utf8mb4_bin AND s.partner_org_id = p.partner_org_id)
        AND (p.partner_org_id > 0
             OR EXISTS (SELECT 1 FROM fi_async_task t FORCE INDEX (idx_task_claim)
                         WHERE t.claimable = 1 AND t.stage = v.stage COLLATE utf8mb4_bin AND t.partner_org_id = 0))
      LIMIT ${where.limit}`,
    [stages],
  );
}
