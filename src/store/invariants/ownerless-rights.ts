import { TaskStatus } from '../../domain/task-status.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';

/** A slot whose holder died is taken over within seconds (ENG-7); one that lies for a minute is forgotten. */
const DEAD_SECONDS_MAX = 60;

export function listDeadSlots(reader: Reader): Promise<FoundRow[]> {
  return reader.many<FoundRow>(
    `SELECT CONCAT(s.stage, ':', s.partner_org_id, ':', s.slot_no) targetId, ${TOTAL}, s.stage,
            s.partner_org_id partnerOrgId, s.slot_no slotNo, s.holder, s.fence, s.lease_end leaseEnd, s.task_ids taskIds
       FROM stage_slot s
      WHERE s.holder IS NOT NULL AND s.lease_end < NOW(3) - INTERVAL ${DEAD_SECONDS_MAX} SECOND
      ORDER BY s.stage, s.partner_org_id, s.slot_no ${SHOWN}`,
  );
}

const HELD = `EXISTS (SELECT 1 FROM stage_slot s WHERE s.stage = t.stage AND s.partner_org_id = t.partner_org_id
  AND s.slot_no = t.slot_no AND s.fence = t.slot_fence AND s.holder IS NOT NULL)`;

/** Running tasks whose slot is another's by now, or nobody's: no rescue will find them, since it starts from the slot (ENG-11). */
export function listTasksWithoutSlot(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['t.push_id'], range);
  return reader.many<FoundRow>(
    `SELECT t.task_code targetId, ${TOTAL}, t.stage, t.partner_org_id partnerOrgId, t.slot_no slotNo, t.slot_fence slotFence,
            t.worker, t.running_attempt runningAttempt, t.started_time startedTime
       FROM fi_async_task t FORCE INDEX (idx_task_push)
      WHERE ${where.sql} AND t.status = ${TaskStatus.RUNNING} AND NOT ${HELD}
      ORDER BY t.id ${SHOWN}`,
    where.values,
  );
}

/** Guards of stations that nobody has: neither a mapping nor an account, a bill lock or a station of ours. */
export function listGuardsWithoutStation(reader: Reader): Promise<FoundRow[]> {
  return reader.many<FoundRow>(
    `SELECT CONCAT(g.kind, ':', g.partner_org_id, ':', g.platform_station_id, ':', g.partner_station_no) targetId, ${TOTAL},
            g.kind, g.partner_org_id partnerOrgId, g.platform_station_id platformStationId,
            g.partner_station_no partnerStationNo, g.fence
       FROM station_guard g
      WHERE (g.kind = 1
             AND NOT EXISTS (SELECT 1 FROM station_mapping m
                              WHERE m.partner_org_id = g.partner_org_id AND m.partner_station_no = g.partner_station_no)
             AND NOT EXISTS (SELECT 1 FROM fi_customer_account_partner a
                              WHERE a.partner_org_id = g.partner_org_id AND a.partner_station_no = g.partner_station_no))
         OR (g.kind = 2
             AND NOT EXISTS (SELECT 1 FROM prop_station p WHERE p.id = g.platform_station_id)
             AND NOT EXISTS (SELECT 1 FROM station_mapping m WHERE m.platform_station_id = g.platform_station_id))
      ORDER BY g.kind, g.partner_org_id, g.platform_station_id, g.partner_station_no ${SHOWN}`,
  );
}
