/** COV-2: each statement that moves pushed rows takes those alone that it names, out of the places that it may, and says all of them. */
import { expect } from 'chai';
import { funnelStageNumber, Place, type PlaceName } from '../../src/domain/place.ts';
import {
  endSnapshotRows,
  markSuperseded,
  moveCommittedRows,
  moveIntoDifference,
  moveRanges,
  moveRows,
  moveSnapshotWaiters,
  moveToSnapshot,
  type PlaceMove,
} from '../../src/store/places.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { type Columns, insertNumberedRow, insertRow, insertRows, makePartner } from '../support/factory.ts';

const PLACES = Object.keys(Place) as PlaceName[];
const TASK = '70';
const OTHER_TASK = '71';
const BEFORE = {
  leftAt: 1,
  reason: 'BEFORE',
  bill: '900',
  diff: '901',
  task: '902',
  snapshotTask: TASK,
  generation: 5,
  by: '903',
};
type Row = { rowNo: number; place: PlaceName } & {
  [Key in keyof typeof BEFORE]: (typeof BEFORE)[Key] | null;
};

describe('store: places of pushed rows', () => {
  let database: TestStore;
  let partnerOrgId: string;
  /** Two pushes, each with a row in every place: row number and place number are the same. */
  let pushId: string;
  let otherPushId: string;
  let accountId: string;
  before(async () => {
    database = await openTestStore();
    partnerOrgId = (await makePartner(database.store)).partnerOrgId;
  });
  after(() => database.drop());

  const TABLES = [
    ...['partner_push', 'pushed_row', 'pushed_row_place', 'open_push', 'fi_customer_account_partner'],
    ...['fi_customer_bill_partner', 'fi_monthly_income_difference'],
    'fi_resident_income_payment_bill_dimension_snapshot',
  ];
  beforeEach(async () => {
    for (const table of TABLES) await database.store.change(`DELETE FROM ${table}`);
    pushId = await makePush('A');
    otherPushId = await makePush('B');
    accountId = await insertNumberedRow(database.store, 'fi_customer_account_partner', {
      partner_org_id: partnerOrgId,
      partner_station_no: 'A',
      push_id: pushId,
      accept_no: '1',
    });
  });

  const monthOf = (rowNo: number) => `2020-${String(rowNo).padStart(2, '0')}`;
  async function makePush(station: string): Promise<string> {
    const { store } = database;
    const id = await insertNumberedRow(store, 'partner_push', {
      partner_org_id: partnerOrgId,
      idempotency_key: station,
      trace_id: station,
      accept_no: station === 'A' ? '1' : '2',
      code: 'ACCEPTED',
      expires_at: '2040-01-01 00:00:00.000',
    });
    const rows = PLACES.map((name) => Place[name]);
    await insertRows(
      store,
      'pushed_row',
      rows.map((rowNo) => ({
        push_id: id,
        row_no: rowNo,
        receipt_index: rowNo,
        accepted: rowNo > Place.LOCKED ? 1 : 0,
        content_hash: 'x',
        partner_station_no: station,
        bill_year_month: monthOf(rowNo),
        rent: '1.00',
      })),
    );
    await insertRows(
      store,
      'pushed_row_place',
      rows.map((place) => ({
        push_id: id,
        row_no: place,
        place,
        left_at: BEFORE.leftAt,
        reason: BEFORE.reason,
        bill_id: BEFORE.bill,
        diff_id: BEFORE.diff,
        account_task_id: BEFORE.task,
        snapshot_task_id: station === 'A' ? TASK : OTHER_TASK,
        snapshot_generation: BEFORE.generation,
        superseded_by_push_id: BEFORE.by,
      })),
    );
    return id;
  }

  const rowsOf = async (id: string): Promise<Row[]> => {
    const rows = await database.store.many<Omit<Row, 'place'> & { place: number }>(
      `SELECT row_no rowNo, place, left_at leftAt, reason, bill_id bill, diff_id diff, account_task_id task,
              snapshot_task_id snapshotTask, snapshot_generation generation, superseded_by_push_id \`by\`
         FROM pushed_row_place WHERE push_id = ? ORDER BY row_no`,
      [id],
    );
    return rows.map((row) => ({ ...row, place: PLACES.find((name) => Place[name] === row.place)! }));
  };
  const untouched = (rowNo: number, snapshotTask = TASK): Row => ({
    ...BEFORE,
    rowNo,
    place: PLACES[rowNo - 1]!,
    snapshotTask,
  });

  /** Of the first push these rows, as they are now; every other row of both pushes is as it was. */
  async function expectMoved(moved: readonly Partial<Row>[]): Promise<void> {
    const byNo = new Map(moved.map((row) => [row.rowNo, row]));
    const numbers = PLACES.map((name) => Place[name] as number);
    expect(await rowsOf(pushId)).to.deep.equal(
      numbers.map((rowNo) => ({ ...untouched(rowNo), ...byNo.get(rowNo) })),
    );
    expect(await rowsOf(otherPushId)).to.deep.equal(numbers.map((rowNo) => untouched(rowNo, OTHER_TASK)));
  }

  /** The bill of the row's station-month, as which push and row wrote it. */
  const makeBill = (rowNo: number, columns: Columns = {}) =>
    insertNumberedRow(database.store, 'fi_customer_bill_partner', {
      customer_account_id: accountId,
      partner_org_id: partnerOrgId,
      bill_year_month: monthOf(rowNo),
      rent: '1.00',
      push_id: pushId,
      push_row_no: rowNo,
      accept_no: '1',
      content_hash: 'x',
      last_push_time: '2026-01-01 00:00:00.000',
      ...columns,
    });
  const allNumbers = PLACES.map((name) => Place[name] as number);
  const all = () => ({ pushId, firstRowNo: 1, lastRowNo: PLACES.length });
  const opened = async () =>
    (await database.store.many<{ pushId: string }>('SELECT push_id pushId FROM open_push')).map(
      (row) => row.pushId,
    );

  describe('COV-2 the station’s commit', () => {
    it('COV-2 takes the accepted rows that waited for their station, or had failed there, and no other', async () => {
      const bills = new Map<number, string>();
      for (const rowNo of allNumbers) bills.set(rowNo, await makeBill(rowNo));
      await moveCommittedRows(database.store, [all()]);
      const waiting = { place: 'DIFF_PENDING', leftAt: null, reason: null, by: null } as const;
      await expectMoved([
        { rowNo: Place.STATION_PENDING, ...waiting, bill: bills.get(Place.STATION_PENDING)! },
        { rowNo: Place.STATION_FAILED, ...waiting, bill: bills.get(Place.STATION_FAILED)! },
      ]);
    });

    it('COV-2 makes STALE the row whose bill another push or another row wrote, by the push that has it', async () => {
      const byOther = await makeBill(Place.STATION_PENDING, { push_id: otherPushId });
      const byNeighbour = await makeBill(Place.STATION_FAILED, { push_row_no: 99 });
      await moveCommittedRows(database.store, [all()]);
      const lost = { place: 'STALE', leftAt: funnelStageNumber('committed'), reason: null } as const;
      await expectMoved([
        { rowNo: Place.STATION_PENDING, ...lost, bill: byOther, by: otherPushId },
        { rowNo: Place.STATION_FAILED, ...lost, bill: byNeighbour, by: pushId },
      ]);
    });

    it('COV-2 leaves what was refused, what is outside of its range, and what has no bill', async () => {
      await makeBill(Place.STATION_PENDING);
      await database.store.change('UPDATE pushed_row SET accepted = 0 WHERE push_id = ? AND row_no = ?', [
        pushId,
        Place.STATION_PENDING,
      ]);
      await moveCommittedRows(database.store, [all()]);
      await expectMoved([]);
      await makeBill(Place.STATION_FAILED);
      await moveCommittedRows(database.store, [{ pushId, firstRowNo: 5, lastRowNo: 17 }]);
      await expectMoved([]);
    });
  });

  describe('COV-2 a move', () => {
    const move: PlaceMove = {
      from: ['DIFF_PENDING', 'ACCOUNT_FAILED'],
      to: 'CANCELLED',
      leftAt: 'inDifference',
      reason: 'WHY',
    };
    const cancelled = (rowNo: number): Partial<Row> => ({
      rowNo,
      place: 'CANCELLED',
      leftAt: funnelStageNumber('inDifference'),
      reason: 'WHY',
    });
    const forms: readonly [what: string, run: (made: PlaceMove) => Promise<void>][] = [
      ['of single rows', (made) => moveRows(database.store, pushId, allNumbers, made)],
      ['of ranges', (made) => moveRanges(database.store, [all()], made)],
      ['of who waits for a snapshot task', (made) => moveSnapshotWaiters(database.store, TASK, made)],
    ];
    for (const [what, run] of forms) {
      it(`COV-2 ${what} takes rows out of the places that it names alone, and says where and why they left`, async () => {
        await run(move);
        await expectMoved([cancelled(Place.DIFF_PENDING), cancelled(Place.ACCOUNT_FAILED)]);
        expect(await opened()).to.deep.equal([]);
      });

      it(`COV-4 ${what} that lets failed rows go on opens their push; one that moves nothing, or ends rows, opens none`, async () => {
        const goOn = { to: 'DIFF_PENDING', leftAt: null, reason: null } as const;
        await run({ ...goOn, from: ['DIFF_FAILED'] });
        await expectMoved([{ rowNo: Place.DIFF_FAILED, place: 'DIFF_PENDING', leftAt: null, reason: null }]);
        expect(await opened()).to.deep.equal([pushId]);
        await database.store.change('DELETE FROM open_push');
        await run({ ...goOn, from: ['DIFF_FAILED'] });
        expect(await opened(), 'nothing was left to move').to.deep.equal([]);
      });
    }

    it('COV-2 of single rows and of ranges take no row that they do not name', async () => {
      await moveRows(database.store, pushId, [Place.DIFF_PENDING], move);
      await expectMoved([cancelled(Place.DIFF_PENDING)]);
      await moveRanges(database.store, [{ pushId, firstRowNo: 8, lastRowNo: 10 }], move);
      await expectMoved([cancelled(Place.DIFF_PENDING)]);
    });
  });

  it('COV-2 rows that come into the ledger get their difference and task, out of the places named', async () => {
    const rows = allNumbers.map((rowNo) => ({
      rowNo,
      diffId: String(100 + rowNo),
      accountTaskId: rowNo === Place.DIFF_FAILED ? null : String(200 + rowNo),
    }));
    await moveIntoDifference(database.store, pushId, rows, {
      from: ['DIFF_PENDING', 'DIFF_FAILED'],
      to: 'ACCOUNT_PENDING',
      leftAt: null,
      reason: null,
    });
    const moved = { place: 'ACCOUNT_PENDING', leftAt: null, reason: null } as const;
    await expectMoved([
      { rowNo: 7, ...moved, diff: '107', task: '207' },
      { rowNo: 8, ...moved, diff: '108', task: null },
    ]);
  });

  it('COV-2 rows that were overtaken are SUPERSEDED by the push that has their bill; ended ones keep their end', async () => {
    const rows = allNumbers.map((rowNo) => ({ rowNo, byPushId: String(300 + rowNo) }));
    await markSuperseded(database.store, pushId, rows, ['DIFF_PENDING', 'DIFF_FAILED'], 'inDifference');
    const moved = { place: 'SUPERSEDED', leftAt: funnelStageNumber('inDifference'), reason: null } as const;
    await expectMoved([
      { rowNo: 7, ...moved, by: '307' },
      { rowNo: 8, ...moved, by: '308' },
    ]);
  });

  it('COV-2 rows whose account was refreshed wait for their snapshot, those too whose account had failed', async () => {
    const rows = allNumbers.map((rowNo) => ({
      rowNo,
      snapshotTaskId: String(400 + rowNo),
      generation: rowNo,
    }));
    await moveToSnapshot(database.store, pushId, rows);
    const moved = { place: 'SNAPSHOT_PENDING', leftAt: null, reason: null } as const;
    await expectMoved([
      { rowNo: Place.ACCOUNT_PENDING, ...moved, snapshotTask: '410', generation: 10 },
      { rowNo: Place.ACCOUNT_FAILED, ...moved, snapshotTask: '411', generation: 11 },
    ]);
  });

  describe('COV-2 the snapshot’s end', () => {
    const waiting = [Place.SNAPSHOT_PENDING, Place.SNAPSHOT_FAILED] as const;

    /** Every row with its bill and difference; those of the two waiting ones as it is said. */
    async function makeWorld({ snapshot, bill = {} }: { snapshot: boolean; bill?: Columns }): Promise<void> {
      for (const rowNo of allNumbers) {
        const isWaiting = (waiting as readonly number[]).includes(rowNo);
        const billId = await makeBill(rowNo, isWaiting ? bill : {});
        const diffId = await insertNumberedRow(database.store, 'fi_monthly_income_difference', {
          partner_org_id: partnerOrgId,
          station_id: '1',
          share_month: monthOf(rowNo),
          project_company_id: '1',
          status: 'MATCHED',
        });
        if (snapshot)
          await insertRow(database.store, 'fi_resident_income_payment_bill_dimension_snapshot', {
            partner_org_id: partnerOrgId,
            platform_station_id: '1',
            bill_year_month: monthOf(rowNo),
          });
        await database.store.change(
          'UPDATE pushed_row_place SET bill_id = ?, diff_id = ? WHERE push_id = ? AND row_no = ?',
          [billId, diffId, pushId, rowNo],
        );
      }
    }
    /** Without the ids, which the world has made. */
    const seen = async () => (await rowsOf(pushId)).map(({ bill: _bill, diff: _diff, ...row }) => row);
    const expectEnded = async (end: Partial<Row>, ended: readonly number[] = waiting) => {
      const before = allNumbers.map((rowNo) => {
        const { bill: _bill, diff: _diff, ...row } = untouched(rowNo);
        return row;
      });
      expect(await seen()).to.deep.equal(
        before.map((row) =>
          ended.includes(row.rowNo) ? { ...row, snapshotTask: null, reason: null, ...end } : row,
        ),
      );
    };
    const left = funnelStageNumber('snapshotCurrent');
    const end = (generation: number = BEFORE.generation, taskId = TASK) =>
      endSnapshotRows(database.store, [{ taskId, generation }]);

    it('COV-2 is CURRENT where the read model has the month and the bill is still the row’s', async () => {
      await makeWorld({ snapshot: true });
      await end();
      await expectEnded({ place: 'CURRENT', leftAt: null, by: null });
    });

    it('COV-2 is NO_SNAPSHOT where the read model has no such month', async () => {
      await makeWorld({ snapshot: false });
      await end();
      await expectEnded({ place: 'NO_SNAPSHOT', leftAt: left, by: null });
    });

    for (const [what, bill, by] of [
      ['another push', () => ({ push_id: otherPushId }), () => otherPushId],
      ['another row of the push', () => ({ push_row_no: 99 }), () => pushId],
    ] as const) {
      for (const snapshot of [true, false]) {
        it(`COV-2 is SUPERSEDED where ${what} has the bill by now, ${snapshot ? 'with' : 'without'} a read-model row`, async () => {
          await makeWorld({ snapshot, bill: bill() });
          await end();
          await expectEnded({ place: 'SUPERSEDED', leftAt: left, by: by() });
        });
      }
    }

    it('COV-2 SNP-2 leaves rows that wait for a later generation, or for another task', async () => {
      await makeWorld({ snapshot: true });
      await end(BEFORE.generation - 1);
      await expectEnded({}, []);
      await end(99, OTHER_TASK);
      await expectEnded({}, []);
      await end(99);
      await expectEnded({ place: 'CURRENT', leftAt: null, by: null });
    });
  });
});
