/**
 * Who held which slot from when to when, as the database saw it: triggers on `stage_slot` write each taking and giving back
 * with the time. Nothing of it is in production; a transaction that rolls back takes its lines with it.
 */
import type { StageName } from '../../src/domain/stage.ts';
import type { Sql } from '../../src/store/sql.ts';

const LINE = (kind: 'given' | 'taken', row: 'OLD' | 'NEW', leaseLeft: string) =>
  `INSERT INTO test_slot_line (stage, partner_org_id, slot_no, kind, at, lease_left_us)
   VALUES (${row}.stage, ${row}.partner_org_id, ${row}.slot_no, '${kind}', SYSDATE(6), ${leaseLeft});`;

/** What was left of the lease when another took the slot; null where its holder gave it back. */
const LEASE_LEFT = 'IF(NEW.holder IS NULL, NULL, TIMESTAMPDIFF(MICROSECOND, SYSDATE(3), OLD.lease_end))';

/** From now on everything is written down. Creating triggers takes the right to it (on a given server: SUPER). */
export async function watchSlots(sql: Sql): Promise<void> {
  await sql.change(
    `CREATE TABLE test_slot_line (
       id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
       stage varchar(32) NOT NULL, partner_org_id bigint unsigned NOT NULL, slot_no int NOT NULL,
       kind enum('given', 'taken') NOT NULL, at datetime(6) NOT NULL, lease_left_us bigint NULL
     ) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  );
  await sql.change(
    `CREATE TRIGGER test_slot_changed AFTER UPDATE ON stage_slot FOR EACH ROW
     IF NOT (OLD.holder <=> NEW.holder AND OLD.fence = NEW.fence) THEN
       IF OLD.holder IS NOT NULL THEN ${LINE('given', 'OLD', LEASE_LEFT)} END IF;
       IF NEW.holder IS NOT NULL THEN ${LINE('taken', 'NEW', 'NULL')} END IF;
     END IF`,
  );
  await sql.change(
    `CREATE TRIGGER test_slot_removed AFTER DELETE ON stage_slot FOR EACH ROW
     IF OLD.holder IS NOT NULL THEN ${LINE('given', 'OLD', 'NULL')} END IF`,
  );
}

export interface LaneRecord {
  readonly stage: StageName;
  readonly partnerOrgId: string;
  /** The most holders at one instant. */
  readonly holdersMax: number;
  readonly taken: number;
}

/** Each partner and stage, from the recorded intervals; one that ended at the instant another began does not overlap it. */
export async function listLaneRecords(sql: Sql): Promise<LaneRecord[]> {
  const rows = await sql.many<
    Omit<LaneRecord, 'holdersMax' | 'taken'> & { holdersMax: string; taken: string }
  >(
    `SELECT stage, partner_org_id partnerOrgId, MAX(holders) holdersMax, SUM(kind = 'taken') taken
       FROM (SELECT stage, partner_org_id, kind,
                    SUM(IF(kind = 'taken', 1, -1)) OVER (PARTITION BY stage, partner_org_id ORDER BY at, kind, id) holders
               FROM test_slot_line) l
      GROUP BY stage, partner_org_id`,
  );
  return rows.map((row) => ({ ...row, holdersMax: Number(row.holdersMax), taken: Number(row.taken) }));
}

/** Slots that were taken from a holder whose lease was not over: two would have worked in one slot. */
export async function countEarlyTakings(sql: Sql): Promise<number> {
  const { n } = await sql.one<{ n: string }>('SELECT COUNT(*) n FROM test_slot_line WHERE lease_left_us > 0');
  return Number(n);
}

/** Slots that were taken from a holder that was gone. */
export async function countTakingsFromTheDead(sql: Sql): Promise<number> {
  const { n } = await sql.one<{ n: string }>(
    'SELECT COUNT(*) n FROM test_slot_line WHERE lease_left_us <= 0',
  );
  return Number(n);
}
