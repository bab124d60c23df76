/** ING-2: the same request twice is one push; and what happens at the seams of that. */
import { expect } from 'chai';
import { lockIdentity } from '../../src/store/push-identities.ts';
import { NEW_READ_COMMITTED } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { insertRow, type MadePartner, makeBillLock, makeMapping, makePartner } from '../support/factory.ts';
import { openLink } from '../support/link.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('the identity of a push', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;
  let body: { stations: object[] };
  let platformStationId: string;

  before(async () => {
    database = await openTestStore();
    api = await startPartnerApi(database.store);
  });
  after(async () => {
    await api.close();
    await database.drop();
  });
  beforeEach(async () => {
    partner = await makePartner(database.store);
    client = api.as(partner);
    const mapped = await makeMapping(database.store, partner.partnerOrgId);
    platformStationId = mapped.platformStationId!;
    body = {
      stations: [stationOf(mapped.partnerStationNo, ['2026-05', '2026-06']), stationOf('no', ['2026-05'])],
    };
    api.kicks.length = 0;
  });

  const countOf = async (table: string) =>
    Number(
      (
        await database.store.one<{ n: string }>(`SELECT COUNT(*) n FROM ${table} WHERE partner_org_id = ?`, [
          partner.partnerOrgId,
        ])
      ).n,
    );

  it('ING-2 DEC-16 a repeat has the first status, counts and receipts, says so, and makes no new work', async () => {
    const first = await client.push(body, { identity: 'one' });
    const second = await client.push(body, { identity: 'one' });
    expect(second.status).to.equal(first.status);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(first.headers.get('idempotency-replayed')).to.equal(null);
    expect(second.body).to.deep.equal({ ...first.body, code: 'IDEMPOTENCY' });
    expect([await countOf('partner_push'), await countOf('fi_async_task')]).to.deep.equal([1, 1]);
    expect(api.kicks).to.have.length(1);
  });

  it('ING-2 ING-3 a repeat of mixed refusals has dense receipts in request order, not in that of the rows', async () => {
    const months = ['2026-05', '2026-03', '2026-05', '2026-13', '2026-01'];
    const [station] = body.stations as { partnerStationNo: string }[];
    const mixed = { stations: [stationOf('zzz', ['2026-02']), stationOf(station!.partnerStationNo, months)] };
    const first = await client.push(mixed, { identity: 'mixed' });
    const second = await client.push(mixed, { identity: 'mixed' });
    const told = second.body.receipts.map((one: { index: number; reason: string }) => [
      one.index,
      one.reason,
    ]);
    expect(told).to.deep.equal([
      [0, 'UNKNOWN_STATION'],
      [1, null],
      [2, null],
      [3, 'DUPLICATE_IN_PUSH'],
      [4, 'INVALID_FIELD'],
      [5, null],
    ]);
    expect(second.body).to.deep.equal({ ...first.body, code: 'IDEMPOTENCY' });
  });

  it('ING-2 a repeat is answered as the first was, whatever has changed since', async () => {
    const first = await client.push(body, { identity: 'one' });
    await makeBillLock(database.store, { platformStationId, month: '2026-05' });
    await database.store.change('DELETE FROM station_mapping WHERE partner_org_id = ?', [
      partner.partnerOrgId,
    ]);
    const second = await client.push(body, { identity: 'one' });
    expect(second.body).to.deep.equal({ ...first.body, code: 'IDEMPOTENCY' });
  });

  it('ING-2 white space, field order and the way of writing an amount are not content', async () => {
    await client.push(
      { stations: [{ partnerStationNo: 'x', bills: [] }, ...body.stations], totalAmount: '300' },
      { identity: 'one' },
    );
    const [station, other] = body.stations as {
      partnerStationNo: string;
      bills: { billYearMonth: string }[];
    }[];
    const reordered = {
      totalAmount: 300.0,
      stations: [
        {
          bills: station!.bills.map(({ billYearMonth }) => ({ rent: 100, preRent: null, billYearMonth })),
          partnerStationNo: station!.partnerStationNo,
        },
        other,
      ],
    };
    const second = await client.push(JSON.stringify(reordered, null, 4), { identity: 'one' });
    expect(second.body.code).to.equal('IDEMPOTENCY');
  });

  it('ING-2 X-Request-Id is its alias', async () => {
    await client.push(body, { identity: 'one' });
    const second = await client.push(body, { identity: null, headers: { 'x-request-id': 'one' } });
    expect(second.body.code).to.equal('IDEMPOTENCY');
  });

  it('ING-2 other content under the same identity: 422, and the first stands', async () => {
    const first = await client.push(body, { identity: 'one' });
    for (const other of [
      { ...body, totalCount: 3 },
      { stations: [] },
      { stations: [...body.stations].reverse() },
    ]) {
      const answer = await client.push(other, { identity: 'one' });
      expect([answer.status, answer.body.code, answer.body.pushId]).to.deep.equal([
        422,
        'IDENTITY_REUSED',
        first.body.pushId,
      ]);
    }
    expect(await countOf('partner_push')).to.equal(1);
  });

  it('ING-2 DEC-16 the identity is looked at before totals and rows', async () => {
    await client.push(body, { identity: 'one' });
    const answer = await client.push({ stations: [], totalCount: 7 }, { identity: 'one' });
    expect(answer.body.code).to.equal('IDENTITY_REUSED');
  });

  for (const [what, headers, code] of [
    ['none', {}, 'IDENTITY_MISSING'],
    ['both, different', { 'idempotency-key': 'a', 'x-request-id': 'b' }, 'IDENTITY_CONFLICT'],
  ] as const) {
    it(`ING-2 ${what}: 400, before the body is looked at`, async () => {
      const answer = await client.push('{', { identity: null, headers });
      expect([answer.status, answer.body.code]).to.deep.equal([400, code]);
    });
  }

  it('ING-1 DEC-16 the same key of two partners is two identities, even where they look alike glued together', async () => {
    const left = await makePartner(database.store, { org_code: 'AB' });
    const right = await makePartner(database.store, { org_code: 'AB_C' });
    const one = await api.as(left).push({ stations: [] }, { identity: 'C_k' });
    const two = await api.as(right).push({ stations: [], totalCount: 0 }, { identity: 'k' });
    expect([one.body.identity, two.body.identity]).to.deep.equal(['AB_C_k', 'AB_C_k']);
    expect([one.body.code, two.body.code]).to.deep.equal(['SKIPPED', 'SKIPPED']);
  });

  it('ING-1 ING-2 the very same key of two partners: each has its own push, its own repeat, and may say other things', async () => {
    const [left, right] = [
      api.as(await makePartner(database.store)),
      api.as(await makePartner(database.store)),
    ];
    const first = await left.push({ stations: [] }, { identity: 'very-same' });
    const second = await right.push({ stations: [] }, { identity: 'very-same' });
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).to.deep.equal([
      202,
      202,
      null,
    ]);
    expect(second.body.pushId).to.not.equal(first.body.pushId);
    const repeats = [left, right].map((one) => one.push({ stations: [] }, { identity: 'very-same' }));
    expect((await Promise.all(repeats)).map(({ body: answer }) => answer.pushId)).to.deep.equal([
      first.body.pushId,
      second.body.pushId,
    ]);
    const third = await api
      .as(await makePartner(database.store))
      .push({ stations: [], totalCount: 0 }, { identity: 'very-same' });
    expect([third.status, third.body.code], 'other content is no matter of theirs').to.deep.equal([
      202,
      'SKIPPED',
    ]);
  });

  it('ING-2 keys that differ in case only are two identities', async () => {
    expect((await client.push(body, { identity: 'key' })).body.code).to.equal('PARTIALLY_ACCEPTED');
    expect((await client.push(body, { identity: 'KEY' })).body.code).to.equal('PARTIALLY_ACCEPTED');
  });

  it('ING-2 a request refused as a whole occupies no identity', async () => {
    expect((await client.push('{', { identity: 'one' })).status).to.equal(400);
    expect((await client.push({ ...body, totalCount: 9 }, { identity: 'one' })).status).to.equal(422);
    expect((await client.push({ stations: body.stations.slice(1) }, { identity: 'one' })).body.code).to.equal(
      'REJECTED',
    );
    expect((await api.as({ key: 'nobody' }).push(body, { identity: 'one' })).status).to.equal(401);
    expect((await client.push(body, { identity: 'one' })).body.code).to.equal('PARTIALLY_ACCEPTED');
  });

  describe('in time', () => {
    const expiry = async () =>
      await database.store.one<{ at: string; days: number }>(
        'SELECT expires_at at, TIMESTAMPDIFF(DAY, accepted_at, expires_at) days FROM push_identity WHERE partner_org_id = ?',
        [partner.partnerOrgId],
      );
    const expire = () =>
      database.store.change(
        'UPDATE push_identity SET expires_at = NOW(3) - INTERVAL 1 SECOND WHERE partner_org_id = ?',
        [partner.partnerOrgId],
      );

    it('ING-2 it is told when it expires: 90 days after the first acceptance; a repeat prolongs nothing', async () => {
      const first = await client.push(body, { identity: 'one' });
      const before = await expiry();
      expect(Number(before.days)).to.equal(90);
      expect(first.body.expiresAt).to.equal(`${before.at.replace(' ', 'T')}Z`);
      await client.push(body, { identity: 'one' });
      expect(await expiry()).to.deep.equal(before);
    });

    it('ING-2 an expired one is replaced in place, by the same content and by other', async () => {
      const first = await client.push(body, { identity: 'one' });
      await expire();
      const second = await client.push(body, { identity: 'one' });
      expect([second.status, second.body.code]).to.deep.equal([202, 'PARTIALLY_ACCEPTED']);
      expect(second.body.pushId).to.not.equal(first.body.pushId);
      await expire();
      const third = await client.push({ ...body, totalCount: 3 }, { identity: 'one' });
      expect(third.body.code).to.equal('PARTIALLY_ACCEPTED');
      expect([await countOf('push_identity'), await countOf('partner_push')]).to.deep.equal([1, 3]);
      const times = await database.store.one<Record<string, string>>(
        `SELECT kept.accepted_at keptAt, push.accepted_at acceptedAt, kept.expires_at keptUntil
           FROM push_identity kept JOIN partner_push push ON push.push_id = ?
          WHERE kept.partner_org_id = ? AND kept.push_id = push.push_id`,
        [third.body.pushId, partner.partnerOrgId],
      );
      expect(times.keptAt, 'counted from the acceptance that replaced it').to.equal(times.acceptedAt);
      expect(`${times.keptUntil!.replace(' ', 'T')}Z`).to.equal(third.body.expiresAt);
      expect(Number((await expiry()).days)).to.equal(90);
      const again = await client.push({ ...body, totalCount: 3 }, { identity: 'one' });
      expect([again.status, again.body.code, again.body.pushId]).to.deep.equal([
        202,
        'IDEMPOTENCY',
        third.body.pushId,
      ]);
    });
  });

  describe('under way', () => {
    it('ING-2 while its accepting transaction is running: 409 with Retry-After, at once', async () => {
      await database.store.transaction(NEW_READ_COMMITTED, async (tx) => {
        await insertRow(tx, 'push_identity', {
          partner_org_id: partner.partnerOrgId,
          idempotency_key: 'one',
          push_id: '1',
          content_digest: 'x'.repeat(64),
          accepted_at: '2026-01-01',
          expires_at: '2027-01-01',
        });
        const startedMs = performance.now();
        const answer = await client.push(body, { identity: 'one' });
        expect([answer.status, answer.body.code]).to.deep.equal([409, 'IDENTITY_RUNNING']);
        expect(performance.now() - startedMs, 'not after a lock wait of 2 s').to.be.lessThan(1_800);
        expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
        await tx.change('DELETE FROM push_identity WHERE partner_org_id = ?', [partner.partnerOrgId]);
      });
      expect((await client.push(body, { identity: 'one' })).status).to.equal(202);
    });

    it('ING-2 an expired one that is just being replaced is under way, too', async () => {
      await client.push(body, { identity: 'one' });
      await database.store.transaction(NEW_READ_COMMITTED, async (tx) => {
        await lockIdentity(tx, partner.partnerOrgId, 'one');
        expect((await client.push(body, { identity: 'one' })).status).to.equal(409);
      });
    });

    it('ING-2 of many at once one is accepted; the others are told so, or to wait', async () => {
      for (let round = 0; round < 10; round++) {
        const identity = `round-${round}`;
        const answers = await Promise.all(Array.from({ length: 6 }, () => client.push(body, { identity })));
        for (const { status } of answers) expect(status).to.be.oneOf([202, 409]);
        const accepted = answers.filter(({ status }) => status === 202);
        expect(accepted.length).to.be.greaterThan(0);
        expect(new Set(accepted.map((answer) => answer.body.pushId)).size).to.equal(1);
        expect(accepted.filter((answer) => answer.body.code !== 'IDEMPOTENCY')).to.have.length(1);
      }
      expect([await countOf('partner_push'), await countOf('fi_async_task')]).to.deep.equal([10, 10]);
    });

    it('ING-6 accept numbers of pushes at once are dense', async () => {
      await Promise.all(
        Array.from({ length: 8 }, (_, at) => client.push(body, { identity: `at-once-${at}` })),
      );
      const rows = await database.store.many<{ accept_no: string }>(
        'SELECT accept_no FROM partner_push WHERE partner_org_id = ? ORDER BY accept_no',
        [partner.partnerOrgId],
      );
      expect(rows.map((row) => row.accept_no)).to.deep.equal(['1', '2', '3', '4', '5', '6', '7', '8']);
    });
  });

  describe('with the database out of reach', () => {
    it('ING-2 503 with Retry-After and nothing is processed; when it is back, the same request is accepted once', async () => {
      const link = await openLink(database.databaseUrl);
      const remote = await startPartnerApi(await database.openAnother({}, link.url));
      try {
        const there = remote.as(partner);
        expect((await there.push(body, { identity: 'before' })).status).to.equal(202);
        link.cut();
        for (let at = 0; at < 3; at++) {
          const answer = await there.push(body, { identity: 'away' });
          expect([answer.status, answer.body.code]).to.deep.equal([503, 'DATABASE_UNAVAILABLE']);
          expect(Number(answer.headers.get('retry-after'))).to.be.greaterThan(0);
        }
        expect((await remote.ask('/readyz')).status).to.equal(503);
        expect((await remote.ask('/healthz')).status).to.equal(200);
        link.mend();
        const answer = await there.push(body, { identity: 'away' });
        expect([answer.status, answer.body.code]).to.deep.equal([202, 'PARTIALLY_ACCEPTED']);
        expect((await remote.ask('/readyz')).status).to.equal(200);
      } finally {
        await remote.close();
        await link.close();
      }
    });
  });
});
