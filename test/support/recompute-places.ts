/**
 * Where every pushed row must be, worked out anew from everything but its stored place: receipts, station tasks, difference
 * messages, account tasks and their outcomes, bills and snapshots. Written apart from the code that moves places, so that
 * the two can disagree. An ended row whose bill a later push took keeps its end, so for those more than one place is right.
 */
import { placeName } from '../../src/domain/place.ts';
import type { Store } from '../../src/store/transaction.ts';

interface Row {
  readonly pushId: string;
  readonly rowNo: number;
  readonly accepted: number;
  readonly refusalReason: string | null;
  readonly partnerStationNo: string | null;
  readonly billYearMonth: string | null;
  readonly partnerOrgId: string;
  readonly paymentFlow: string | null;
  readonly rowRent: string | null;
  readonly place: number;
  readonly placeRent: string;
}

interface Task {
  readonly id: string;
  readonly stage: string;
  readonly status: number;
  readonly retryCount: number;
  readonly maxRetryCount: number;
  readonly finalResult: string | null;
  readonly pushId: string;
  readonly taskCode: string;
  readonly taskData: Record<string, never>;
}

/** @returns what does not fit, in words; empty when all is well */
export async function checkPlaces(store: Store): Promise<string[]> {
  const world = await readWorld(store);
  const faults: string[] = [];
  for (const row of world.rows) {
    const allowed = expectedPlaces(world, row);
    const actual = placeName(row.place);
    if (!allowed.includes(actual)) {
      faults.push(`push ${row.pushId} row ${row.rowNo}: is ${actual}, must be ${allowed.join(' or ')}`);
    }
    if (row.accepted === 1 && row.rowRent !== row.placeRent) {
      faults.push(`push ${row.pushId} row ${row.rowNo}: rent ${row.placeRent} instead of ${row.rowRent}`);
    }
  }
  return [
    ...faults,
    ...(await checkTotals(store)),
    ...(await checkBills(store)),
    ...(await checkLedger(store)),
  ];
}

async function readWorld(store: Store) {
  const rows = await store.many<Row>(
    `SELECT r.push_id pushId, r.row_no rowNo, r.accepted, r.refusal_reason refusalReason, r.partner_station_no partnerStationNo,
            r.bill_year_month billYearMonth, p.partner_org_id partnerOrgId, pa.payment_flow paymentFlow, r.rent rowRent,
            w.place, w.rent placeRent
       FROM pushed_row r JOIN pushed_row_place w ON w.push_id = r.push_id AND w.row_no = r.row_no
       JOIN partner_push p ON p.push_id = r.push_id JOIN partner pa ON pa.partner_org_id = p.partner_org_id`,
  );
  const tasks = await store.many<Task>(
    `SELECT id, stage, status, retry_count retryCount, max_retry_count maxRetryCount, final_result finalResult, push_id pushId,
            task_code taskCode, task_data taskData FROM fi_async_task`,
  );
  const outcomes = await store.many<{ taskId: string; station: string; outcome: string }>(
    "SELECT task_id taskId, platform_station_id station, outcome FROM account_refresh_outcome WHERE outcome <> 'FAILED'",
  );
  const bills = await store.many<{
    partnerOrgId: string;
    stationNo: string;
    month: string;
    pushId: string;
    rowNo: number;
  }>(
    `SELECT a.partner_org_id partnerOrgId, a.partner_station_no stationNo, b.bill_year_month month, b.push_id pushId, b.push_row_no rowNo
       FROM fi_customer_bill_partner b JOIN fi_customer_account_partner a ON a.id = b.customer_account_id`,
  );
  const snapshots = await store.many<{ partnerOrgId: string; station: string; month: string }>(
    'SELECT partner_org_id partnerOrgId, platform_station_id station, bill_year_month month FROM fi_resident_income_payment_bill_dimension_snapshot',
  );
  return {
    rows,
    stationTasks: new Map(
      tasks
        .filter((task) => task.stage === 'bill-station')
        .map((task) => [
          `${task.pushId}/${(task.taskData as never as { partnerStationNo: string }).partnerStationNo}`,
          task,
        ]),
    ),
    messageOfRow: messagesByRow(tasks),
    accountOfRow: accountsByRow(tasks),
    snapshotTasks: new Map(
      tasks.filter((task) => task.stage === 'bill-snapshot').map((task) => [task.taskCode, task]),
    ),
    outcomes: new Map(outcomes.map((one) => [`${one.taskId}/${one.station}`, one.outcome])),
    bills: new Map(bills.map((bill) => [`${bill.partnerOrgId}/${bill.stationNo}/${bill.month}`, bill])),
    snapshots: new Set(snapshots.map((one) => `${one.partnerOrgId}/${one.station}/${one.month}`)),
  };
}

type World = Awaited<ReturnType<typeof readWorld>>;

/** A row is in the messages that name it; one that was split or set aside is in the later one, which has the higher id. */
function messagesByRow(tasks: readonly Task[]): Map<string, Task> {
  const found = new Map<string, Task>();
  const messages = tasks
    .filter((task) => task.stage === 'income-diff')
    .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  for (const task of messages) {
    const { pushId, stations } = (
      task.taskData as never as {
        requestparams: { pushId: string; stations: { bills: { rowNo: number }[] }[] };
      }
    ).requestparams;
    for (const station of stations)
      for (const bill of station.bills) found.set(`${pushId}/${bill.rowNo}`, task);
  }
  return found;
}

function accountsByRow(tasks: readonly Task[]): Map<string, { task: Task; station: string }> {
  const found = new Map<string, { task: Task; station: string }>();
  for (const task of tasks.filter((one) => one.stage === 'account-shard')) {
    const data = task.taskData as never as {
      pushId: string;
      platformAccountScopes: { platformStationId: string; rowNos: number[] }[];
    };
    for (const scope of data.platformAccountScopes) {
      for (const rowNo of scope.rowNos)
        found.set(`${data.pushId}/${rowNo}`, { task, station: scope.platformStationId });
    }
  }
  return found;
}

const isFailedForGood = (task: Task) => task.status === 3 && task.retryCount >= task.maxRetryCount;

function expectedPlaces(world: World, row: Row): string[] {
  if (row.accepted === 0) return [row.refusalReason === 'PAYMENT_LOCKED' ? 'LOCKED' : 'INVALID'];
  const station = world.stationTasks.get(`${row.pushId}/${row.partnerStationNo}`);
  if (station === undefined) return ['(no station task)'];
  if (station.status === 4) return ['CANCELLED'];
  if (isFailedForGood(station)) return ['STATION_FAILED'];
  if (station.status !== 2) return ['STATION_PENDING'];

  const bill = world.bills.get(`${row.partnerOrgId}/${row.partnerStationNo}/${row.billYearMonth}`);
  if (bill === undefined) return ['(committed without a bill)'];
  const isOwn = bill.pushId === row.pushId && bill.rowNo === row.rowNo;
  const message = world.messageOfRow.get(`${row.pushId}/${row.rowNo}`);
  if (message === undefined) return isOwn ? ['DIFF_PENDING'] : ['STALE'];
  if (message.status === 4) return ['CANCELLED'];
  if (isFailedForGood(message)) return ['DIFF_FAILED'];
  if (message.status !== 2) return ['DIFF_PENDING'];

  const account = world.accountOfRow.get(`${row.pushId}/${row.rowNo}`);
  if (account === undefined) {
    if (row.paymentFlow === 'DISABLED')
      return isOwn ? ['PAYMENT_DISABLED'] : ['PAYMENT_DISABLED', 'SUPERSEDED'];
    return isOwn ? ['(compared without an account task)'] : ['SUPERSEDED'];
  }
  const outcome = world.outcomes.get(`${account.task.id}/${account.station}`);
  if (outcome === 'SKIPPED') return ['SKIPPED'];
  if (outcome === undefined) {
    if (account.task.status === 4) return ['CANCELLED'];
    return isFailedForGood(account.task) ? ['ACCOUNT_FAILED'] : ['ACCOUNT_PENDING'];
  }
  const snapshotTask = world.snapshotTasks.get(`BDS:${row.partnerOrgId}:${account.station}`);
  const ended = world.snapshots.has(`${row.partnerOrgId}/${account.station}/${row.billYearMonth}`)
    ? 'CURRENT'
    : 'NO_SNAPSHOT';
  if (snapshotTask !== undefined && snapshotTask.status !== 2)
    return [waitingFor(snapshotTask), ended, 'SUPERSEDED'];
  return isOwn ? [ended] : [ended, 'SUPERSEDED'];
}

/** A row that waits for its snapshot; those that had ended before the task was asked for again are not among them. */
function waitingFor(snapshotTask: Task): string {
  if (snapshotTask.status === 4) return 'CANCELLED';
  return isFailedForGood(snapshotTask) ? 'SNAPSHOT_FAILED' : 'SNAPSHOT_PENDING';
}

/** Rows and money of a push's places are those of its receipts. */
async function checkTotals(store: Store): Promise<string[]> {
  const wrong = await store.many<{ pushId: string }>(
    `SELECT p.push_id pushId FROM partner_push p
       LEFT JOIN (SELECT push_id, COUNT(*) n, SUM(rent) rent FROM pushed_row_place GROUP BY push_id) w ON w.push_id = p.push_id
      WHERE p.retired_at IS NULL
        AND (COALESCE(w.n, 0) <> p.requested_count OR COALESCE(w.rent, 0) <> p.requested_amount)`,
  );
  return wrong.map(({ pushId }) => `push ${pushId}: its places do not add up to what was requested`);
}

/** Each bill is the latest accepted row of its key whose station committed. */
async function checkBills(store: Store): Promise<string[]> {
  const wrong = await store.many<{ billId: string }>(
    `SELECT b.id billId FROM fi_customer_bill_partner b
       JOIN pushed_row r ON r.push_id = b.push_id AND r.row_no = b.push_row_no
      WHERE b.rent <> r.rent OR NOT (b.deduction_amount <=> r.deduction_amount) OR b.content_hash <> r.content_hash`,
  );
  const totals = await store.many<{ id: string }>(
    `SELECT a.id FROM fi_customer_account_partner a
       JOIN (SELECT customer_account_id, COUNT(*) n, SUM(rent) rent, SUM(COALESCE(deduction_amount, 0)) deduction
               FROM fi_customer_bill_partner GROUP BY customer_account_id) t ON t.customer_account_id = a.id
      WHERE a.bill_count <> t.n OR a.total_rent <> t.rent OR a.total_deduction <> t.deduction OR a.cumulative_deduction <> t.deduction`,
  );
  return [
    ...wrong.map(({ billId }) => `bill ${billId} is not what its row says`),
    ...totals.map(({ id }) => `partner account ${id}: its totals are not the sum of its bills`),
  ];
}

/** The monthly summaries are the sums of the ledger. */
async function checkLedger(store: Store): Promise<string[]> {
  const wrong = await store.many<{ company: string; month: string }>(
    `SELECT s.project_company_id company, s.share_month month FROM fi_project_income_difference s
       LEFT JOIN (SELECT project_company_id, share_month, COUNT(*) n, SUM(status = 'MATCHED') matched, SUM(partner_rent) partner_rent,
                    SUM(platform_rent) platform_rent, SUM(diff_rent) diff_rent
               FROM fi_monthly_income_difference GROUP BY project_company_id, share_month) d
         ON d.project_company_id = s.project_company_id AND d.share_month = s.share_month
      WHERE s.difference_count <> COALESCE(d.n, 0) OR s.matched_count <> COALESCE(d.matched, 0) OR s.partner_rent <> COALESCE(d.partner_rent, 0)
         OR s.platform_rent <> COALESCE(d.platform_rent, 0) OR s.diff_rent <> COALESCE(d.diff_rent, 0)`,
  );
  return wrong.map(
    ({ company, month }) => `summary of company ${company} in ${month} is not the sum of its differences`,
  );
}
