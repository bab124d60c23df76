import { expect } from 'chai';
import { FUNNEL_STAGES, Place, type PlaceName } from '../../src/domain/place.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { makeTask } from '../support/engine.ts';
import { type MadePartner, makeMapping, makePartner } from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('GET /api/v1/pushes/{pushId}', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;

  before(async () => {
    database = await openTestStore();
    api = await startPartnerApi(database.store);
    partner = await makePartner(database.store);
    client = api.as(partner);
  });
  after(async () => {
    await api.close();
    await database.drop();
  });

  const MONTHS = ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05', '2026-06'];

  async function pushTo(months: readonly string[], stations = 1): Promise<string> {
    const entries = [];
    for (let at = 0; at < stations; at++) {
      const mapped = await makeMapping(database.store, partner.partnerOrgId);
      entries.push(stationOf(mapped.partnerStationNo, months));
    }
    return (await client.push({ stations: entries })).body.pushId;
  }
  const coverage = async (pushId: string) => (await client.get(`/api/v1/pushes/${pushId}`)).body;
  const move = (
    pushId: string,
    rowNo: number,
    place: PlaceName,
    leftAt: string | null = null,
    reason: string | null = null,
  ) =>
    database.store.changeExactly(
      1,
      'moving a row',
      'UPDATE pushed_row_place SET place = ?, left_at = ?, reason = ? WHERE push_id = ? AND row_no = ?',
      [Place[place], leftAt === null ? null : FUNNEL_STAGES.indexOf(leftAt as never), reason, pushId, rowNo],
    );
  const setTask = (pushId: string, change: string) =>
    database.store.change(`UPDATE fi_async_task SET ${change} WHERE push_id = ? AND stage = 'bill-station'`, [
      pushId,
    ]);

  it('COV-0 COV-1 COV-4 says rows and money at every stage, as of an instant of the database', async () => {
    const pushId = await pushTo(MONTHS);
    await move(pushId, 1, 'STALE', 'committed');
    await move(pushId, 2, 'SUPERSEDED', 'inDifference');
    await move(pushId, 3, 'CURRENT');
    await move(pushId, 4, 'CURRENT');
    await move(pushId, 5, 'DIFF_FAILED', 'inDifference', 'NO_PLATFORM_STATION');
    const before = await database.store.one<{ at: string }>('SELECT NOW(3) at');
    const body = await coverage(pushId);
    const after = await database.store.one<{ at: string }>('SELECT NOW(3) at');
    expect(
      body.asOf >= `${before.at.replace(' ', 'T')}Z` && body.asOf <= `${after.at.replace(' ', 'T')}Z`,
    ).to.equal(true);
    expect(body).to.include({ pushId, code: 'ACCEPTED', state: 'IN_PROGRESS', stationOutcome: null });
    const steps = body.funnel.map(
      (step: { stage: string; rows: number; amount: string; pending: object; dropped: object[] }) => [
        step.stage,
        step.rows,
        step.amount,
        step.pending,
        step.dropped,
      ],
    );
    const none = { rows: 0, amount: '0.00' };
    expect(steps).to.deep.equal([
      ['requested', 6, '600.00', none, []],
      ['valid', 6, '600.00', none, []],
      ['unlocked', 6, '600.00', none, []],
      [
        'committed',
        4,
        '400.00',
        { rows: 1, amount: '100.00' },
        [{ reason: 'STALE', rows: 1, amount: '100.00' }],
      ],
      [
        'inDifference',
        2,
        '200.00',
        none,
        [
          { reason: 'NO_PLATFORM_STATION', rows: 1, amount: '100.00' },
          { reason: 'SUPERSEDED', rows: 1, amount: '100.00' },
        ],
      ],
      ['paymentEnabled', 2, '200.00', none, []],
      ['refreshed', 2, '200.00', none, []],
      ['snapshotCurrent', 2, '200.00', none, []],
    ]);
    const places = Object.fromEntries(
      body.places.map((one: { place: string; rows: number }) => [one.place, one.rows]),
    );
    expect(places).to.include({
      CURRENT: 2,
      STALE: 1,
      SUPERSEDED: 1,
      DIFF_FAILED: 1,
      STATION_PENDING: 1,
      NO_SNAPSHOT: 0,
    });
    expect(Object.keys(places)).to.deep.equal(Object.keys(Place));
  });

  describe('of a push with a row at each place', () => {
    /** What is at a stage's number, or short of it for good, or on its way to it. */
    const ROAD: readonly (readonly [stage: string, ended: PlaceName[], underWay: PlaceName[]])[] = [
      ['valid', ['INVALID'], []],
      ['unlocked', ['LOCKED'], []],
      ['committed', ['STATION_FAILED', 'STALE', 'CANCELLED'], ['STATION_PENDING']],
      ['inDifference', ['SUPERSEDED', 'DIFF_FAILED'], ['DIFF_PENDING']],
      ['paymentEnabled', ['PAYMENT_DISABLED'], []],
      ['refreshed', ['ACCOUNT_FAILED', 'SKIPPED'], ['ACCOUNT_PENDING']],
      ['snapshotCurrent', ['SNAPSHOT_FAILED', 'NO_SNAPSHOT'], ['SNAPSHOT_PENDING']],
    ];
    const names = Object.keys(Place) as PlaceName[];
    /** Powers of two, in fen: a sum tells which rows are in it. */
    const fenOf = (place: PlaceName) => 2 ** names.indexOf(place);
    const shareOf = (places: readonly PlaceName[]) => ({
      rows: places.length,
      amount: (places.reduce((sum, place) => sum + fenOf(place), 0) / 100).toFixed(2),
    });
    const rows = (body: { items: object[] }) =>
      body.items as { rent: string; place: string; leftAt: string }[];
    let pushId: string;

    before(async () => {
      const { partnerStationNo } = await makeMapping(database.store, partner.partnerOrgId);
      const bills = names.map((place, at) => ({
        billYearMonth: `${2024 + Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`,
        rent: (fenOf(place) / 100).toFixed(2),
      }));
      pushId = (await client.push({ stations: [{ partnerStationNo, bills }] })).body.pushId;
      for (const [at, place] of names.entries()) {
        const leftAt = ROAD.find(([, ended]) => ended.includes(place))?.[0] ?? null;
        await move(pushId, at + 1, place, leftAt);
      }
    });

    it('COV-0 COV-1 COV-2 the funnel adds up in rows and in money at every stage', async () => {
      const { funnel } = await coverage(pushId);
      let reached = names;
      expect(funnel[0]).to.deep.include({ stage: 'requested', ...shareOf(reached) });
      for (const [at, [stage, ended, underWay]] of ROAD.entries()) {
        reached = reached.filter((place) => !ended.includes(place) && !underWay.includes(place));
        const { dropped, ...step } = funnel[at + 1];
        expect(step).to.deep.equal({ stage, ...shareOf(reached), pending: shareOf(underWay) });
        const losses = ended.map((place) => ({ reason: place, ...shareOf([place]) }));
        expect(dropped, stage).to.have.deep.members(losses);
      }
      expect(reached).to.deep.equal(['CURRENT']);
    });

    it('COV-6 each count is that of the list behind it, in rows and in money', async () => {
      const { funnel, places } = await coverage(pushId);
      for (const { place, ...share } of places) {
        const items = rows(
          await client.get(`/api/v1/pushes/${pushId}/bills?place=${place}`).then((a) => a.body),
        );
        expect(items.map((item) => item.place)).to.deep.equal([place]);
        expect({ rows: items.length, amount: items[0]!.rent }, place).to.deep.equal(share);
      }
      const all = rows(await client.get(`/api/v1/pushes/${pushId}/bills`).then((a) => a.body));
      for (const { stage, dropped } of funnel) {
        const left = all.filter((item) => item.leftAt === stage);
        const listed = left.map(({ place, rent }) => ({ reason: place, rows: 1, amount: rent }));
        expect(dropped, stage).to.have.deep.members(listed);
      }
    });

    it('COV-0 COV-2 rows alike but for their reason are told apart, and unlike rents of a reason add up', async () => {
      const { partnerStationNo } = await makeMapping(database.store, partner.partnerOrgId);
      const bills = ['1.00', '20.05', '0.30'].map((rent, at) => ({ billYearMonth: MONTHS[at], rent }));
      const mixed = (await client.push({ stations: [{ partnerStationNo, bills }] })).body.pushId;
      await move(mixed, 1, 'STATION_FAILED', 'committed', 'PAYMENT_LOCKED');
      await move(mixed, 2, 'STATION_FAILED', 'committed', 'CRASHED');
      await move(mixed, 3, 'STATION_FAILED', 'committed', 'CRASHED');
      expect((await coverage(mixed)).funnel[3].dropped).to.deep.equal([
        { reason: 'CRASHED', rows: 2, amount: '20.35' },
        { reason: 'PAYMENT_LOCKED', rows: 1, amount: '1.00' },
      ]);
    });
  });

  it('COV-4 is complete when nothing is under way, with exceptions if something was refused, failed or skipped', async () => {
    const pushId = await pushTo(MONTHS.slice(0, 2));
    await move(pushId, 1, 'CURRENT');
    await move(pushId, 2, 'NO_SNAPSHOT', 'snapshotCurrent');
    expect((await coverage(pushId)).state).to.equal('COMPLETE');
    await move(pushId, 2, 'SKIPPED', 'refreshed');
    expect((await coverage(pushId)).state).to.equal('COMPLETE_WITH_EXCEPTIONS');
    await move(pushId, 2, 'ACCOUNT_PENDING');
    expect((await coverage(pushId)).state, 'a retry may reopen it').to.equal('IN_PROGRESS');
  });

  it('COV-1 STA-18 an empty push covers nothing, and is complete', async () => {
    const { pushId } = (await client.push({ stations: [] })).body;
    const body = await coverage(pushId);
    expect([body.state, body.stationOutcome]).to.deep.equal(['COMPLETE', 'SKIPPED']);
    expect(body.asOf).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(body.funnel[0]).to.deep.equal({
      stage: 'requested',
      rows: 0,
      amount: '0.00',
      dropped: [],
      pending: { rows: 0, amount: '0.00' },
    });
  });

  it('STA-18 ENG-14 the station outcome is empty while one station is in its first attempt, and follows later retries', async () => {
    const pushId = await pushTo(['2026-05'], 3);
    const outcome = async () => (await coverage(pushId)).stationOutcome;
    expect(await outcome()).to.equal(null);
    await setTask(pushId, 'status = 1');
    expect(await outcome(), 'running').to.equal(null);
    await setTask(pushId, 'status = 2');
    // What follows from the stations is not one of them.
    await makeTask(database.store, `message of ${pushId}`, { stage: 'income-diff', push_id: pushId });
    expect(await outcome()).to.equal('SUCCESS');
    await setTask(pushId, 'status = 3, retry_count = 1');
    expect(await outcome()).to.equal('FAILED');
    const one = `task_code = (SELECT code FROM (SELECT MIN(task_code) code FROM fi_async_task WHERE push_id = ${pushId}) held)`;
    await database.store.change(`UPDATE fi_async_task SET status = 2 WHERE push_id = ? AND ${one}`, [pushId]);
    expect(await outcome()).to.equal('PARTIAL_SUCCESS');
    await setTask(pushId, 'status = 0, retry_count = 0, crash_count = 0');
    expect(await outcome()).to.equal(null);
    for (const change of [
      'crash_count = 1',
      'crash_count = 0, retry_count = 1',
      'retry_count = 0, activation = 0',
    ]) {
      await setTask(pushId, change);
      expect(await outcome(), change).to.equal('FAILED');
    }
  });

  it('ING-1 another partner’s push does not exist, nor does what is no id', async () => {
    const pushId = await pushTo(['2026-05']);
    const stranger = api.as(await makePartner(database.store));
    for (const path of [
      `/${pushId}`,
      `/${pushId}/bills`,
      '/0',
      '/999999',
      '/01',
      '/1e3',
      '/-1',
      '/18446744073709551616',
      '/x',
    ]) {
      const answer = await stranger.get(`/api/v1/pushes${path}`);
      expect([answer.status, answer.body.code], path).to.deep.equal([404, 'NO_SUCH_PUSH']);
    }
    expect((await stranger.get('/api/v1/pushes')).body.items).to.deep.equal([]);
  });

  it('ING-2 a push is found again by its identity, for who never got the answer', async () => {
    const mapped = await makeMapping(database.store, partner.partnerOrgId);
    const { body } = await client.push(
      { stations: [stationOf(mapped.partnerStationNo, ['2026-05', '2026-05'])] },
      { identity: 'lost' },
    );
    const found = (await client.get('/api/v1/pushes?idempotencyKey=lost')).body;
    expect(found.items).to.have.length(1);
    expect(found.items[0]).to.deep.include({
      pushId: body.pushId,
      traceId: body.traceId,
      code: 'PARTIALLY_ACCEPTED',
      counts: body.counts,
      amounts: body.amounts,
      expiresAt: body.expiresAt,
    });
    expect((await client.get('/api/v1/pushes?idempotencyKey=LOST')).body.items).to.deep.equal([]);
  });

  it('own pushes are listed newest first, in pages that neither repeat nor lose one', async () => {
    const other = await makePartner(database.store);
    const theirs = api.as(other);
    const made = [];
    for (let at = 0; at < 5; at++) made.push((await theirs.push({ stations: [] })).body.pushId);
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 4; page++) {
      const { items, nextCursor } = (await theirs.get(`/api/v1/pushes?limit=2${cursor}`)).body;
      seen.push(...items.map((item: { pushId: string }) => item.pushId));
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    expect(seen).to.deep.equal(made.reverse());
  });
});
