import { PLACE_MEANINGS, type PlaceName } from '../../domain/place.ts';
import { placesNamed } from '../place-lists.ts';
import { type FoundRow, type Reader, SHOWN, TOTAL } from './found.ts';
import { inRange, type KeyRange } from './key-ranges.ts';
import { isOpen, isUnfinished } from './work-under-way.ts';

const at = (...names: PlaceName[]) => `w.place IN (${placesNamed(names)})`;
const named = (kinds: readonly string[]) =>
  (Object.keys(PLACE_MEANINGS) as PlaceName[]).filter((name) => kinds.includes(PLACE_MEANINGS[name].kind));

const NO_BILL = 'b.id IS NULL';
const NO_DIFFERENCE = 'd.id IS NULL OR NOT (d.partner_bill_id <=> w.bill_id)';
const OWN_BILL = 'b.push_id = w.push_id AND b.push_row_no = w.row_no';
const NO_SUPERSEDER = 'COALESCE(w.superseded_by_push_id, 0) IN (0, w.push_id)';
/** What a task must be for a row that waits for it: on its way, or failed and waiting for a person. */
const notOpen = (task: string) => `${task}.id IS NULL OR NOT ${isOpen(task)}`;
const ended = (task: string) => `${task}.id IS NULL OR NOT ${isUnfinished(task)}`;
const NOT_IN_MESSAGE = 'h.station_task_id IS NULL OR w.row_no < h.first_row_no OR w.row_no > h.last_row_no';

/** The first that fits is told. Each place, with the ids and the work that it must have. */
const FAULTS: readonly (readonly [condition: string, fault: string])[] = [
  ['r.push_id IS NULL', 'there is no such pushed row'],
  [`(r.accepted = 0) <> (${at('INVALID', 'LOCKED')})`, 'the place is not what the receipt says'],
  [
    `(w.left_at IS NULL) <> (${at(...named(['under way', 'goal']))})`,
    'where it left the funnel does not fit the place',
  ],
  [
    `${at('STATION_PENDING', 'STATION_FAILED')} AND w.bill_id IS NOT NULL`,
    'it has a bill though its station has not committed',
  ],
  [
    `${at('STATION_PENDING')} AND (${notOpen('st')})`,
    'it waits for its station, and no station task is on its way',
  ],
  [`${at('STATION_FAILED')} AND (${ended('st')})`, 'its station failed, and the station task has ended'],
  [
    `${at(...named(['named end', 'goal']), 'DIFF_PENDING', 'DIFF_FAILED')} AND ${NO_BILL}`,
    'it is committed, and there is no bill',
  ],
  [`${at('STALE', 'SUPERSEDED')} AND ${OWN_BILL}`, 'it was overtaken, and the bill is its own'],
  [`${at('STALE', 'SUPERSEDED')} AND ${NO_SUPERSEDER}`, 'it was overtaken, and no other push is named'],
  [`${at('DIFF_PENDING', 'DIFF_FAILED')} AND (${NOT_IN_MESSAGE})`, 'its bill was not handed over'],
  [
    `${at('DIFF_PENDING')} AND h.message_task_id <> 0 AND (${notOpen('m')})`,
    'it waits for its difference, and no message is on its way',
  ],
  [`${at('DIFF_FAILED')} AND (${ended('m')})`, 'its difference failed, and the message has ended'],
  [
    `${at('PAYMENT_DISABLED', 'ACCOUNT_PENDING', 'ACCOUNT_FAILED', 'SKIPPED', 'SNAPSHOT_PENDING', 'SNAPSHOT_FAILED', 'NO_SNAPSHOT', 'CURRENT')}
       AND (${NO_BILL} OR ${NO_DIFFERENCE})`,
    'it is in the ledger, and there is no difference of its bill',
  ],
  [
    `${at('PAYMENT_DISABLED')} AND w.account_task_id IS NOT NULL`,
    'its partner takes no part in payment, and it has an account task',
  ],
  [
    `${at('SKIPPED', 'SNAPSHOT_PENDING', 'SNAPSHOT_FAILED', 'NO_SNAPSHOT', 'CURRENT')} AND w.account_task_id IS NULL`,
    'its account was refreshed or skipped, and no account task is named',
  ],
  [
    `${at('ACCOUNT_PENDING')} AND (${notOpen('ac')})`,
    'it waits for its account, and no account task is on its way',
  ],
  [`${at('ACCOUNT_FAILED')} AND (${ended('ac')})`, 'its account task failed, and has ended'],
  [
    `${at('SNAPSHOT_PENDING')} AND (${notOpen('sn')})`,
    'it waits for its snapshot, and no snapshot task is on its way',
  ],
  [`${at('SNAPSHOT_FAILED')} AND (${ended('sn')})`, 'its snapshot task failed, and has ended'],
  [
    `${at('SNAPSHOT_PENDING')} AND COALESCE(w.snapshot_generation, 0) NOT BETWEEN 1 AND sn.request_generation`,
    'it waits for a snapshot that was never asked for',
  ],
  [
    `NOT ${at('SNAPSHOT_PENDING', 'SNAPSHOT_FAILED', 'CANCELLED')} AND w.snapshot_task_id IS NOT NULL`,
    'it does not wait for a snapshot, and names a snapshot task',
  ],
  [`${at('CURRENT')} AND s.id IS NULL`, 'it is current, and there is no snapshot'],
];

const FAULT = `CASE ${FAULTS.map(([condition, fault]) => `WHEN ${condition} THEN '${fault}'`).join('\n ')} END`;

/** Rows whose place does not fit the bill, difference and tasks that they name, or that nothing will ever move on. */
export function listMisplacedRows(reader: Reader, range: KeyRange): Promise<FoundRow[]> {
  const where = inRange(['w.push_id', 'w.row_no'], range);
  const judged = `SELECT w.push_id, w.row_no, w.place, w.left_at, w.bill_id, w.diff_id, w.account_task_id, w.snapshot_task_id,
            w.snapshot_generation, w.superseded_by_push_id, ${FAULT} fault
       FROM pushed_row_place w
       LEFT JOIN pushed_row r ON r.push_id = w.push_id AND r.row_no = w.row_no
       LEFT JOIN fi_customer_bill_partner b ON b.id = w.bill_id
       LEFT JOIN fi_monthly_income_difference d ON d.id = w.diff_id
       LEFT JOIN fi_async_task st ON ${at('STATION_PENDING', 'STATION_FAILED', 'DIFF_PENDING', 'DIFF_FAILED')}
        AND st.task_code = CONCAT('PSB:', w.push_id, ':', r.partner_station_no) COLLATE utf8mb4_bin
       LEFT JOIN income_diff_handover h ON h.station_task_id = st.id
       LEFT JOIN fi_async_task m ON m.id = h.message_task_id
       LEFT JOIN fi_async_task ac ON ac.id = w.account_task_id AND ${at('ACCOUNT_PENDING', 'ACCOUNT_FAILED')}
       LEFT JOIN fi_async_task sn ON sn.id = w.snapshot_task_id AND ${at('SNAPSHOT_PENDING', 'SNAPSHOT_FAILED')}
       LEFT JOIN fi_resident_income_payment_bill_dimension_snapshot s ON ${at('CURRENT')}
        AND s.partner_org_id = d.partner_org_id AND s.platform_station_id = d.station_id AND s.bill_year_month = d.share_month
      WHERE ${where.sql}`;
  return reader.many<FoundRow>(
    `SELECT CONCAT(j.push_id, '/', j.row_no) targetId, ${TOTAL}, j.fault, j.place, j.left_at leftAt, j.bill_id billId,
            j.diff_id diffId, j.account_task_id accountTaskId, j.snapshot_task_id snapshotTaskId,
            j.snapshot_generation snapshotGeneration, j.superseded_by_push_id supersededByPushId
       FROM (${judged}) j WHERE j.fault IS NOT NULL
      ORDER BY j.push_id, j.row_no ${SHOWN}`,
    where.values,
  );
}
