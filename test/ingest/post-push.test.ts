/** What a partner is answered, and what is in the database then. */
import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { type MadePartner, makeCredential, makeMapping, makePartner } from '../support/factory.ts';
import { type PartnerApi, type PartnerClient, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('POST /api/v1/pushes', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;

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
    api.kicks.length = 0;
  });

  const station = async (columns = {}) =>
    (await makeMapping(database.store, partner.partnerOrgId, columns)).partnerStationNo;
  const pushes = () =>
    database.store.many('SELECT push_id FROM partner_push WHERE partner_org_id = ?', [partner.partnerOrgId]);

  describe('who is asking', () => {
    it('ING-1 no key, an unknown one, a revoked one, another scheme: 401, and how to do better', async () => {
      const revoked = await makeCredential(database.store, partner.partnerOrgId, {
        revoked_at: '2020-01-01 00:00:00.000',
      });
      const headers = [
        {},
        { authorization: 'Bearer nobody' },
        { authorization: `Bearer ${revoked}` },
        { authorization: `Basic ${partner.key}` },
      ];
      for (const one of headers) {
        const answer = await api.ask('/api/v1/pushes', {
          method: 'POST',
          headers: one as Record<string, string>,
          body: '{',
        });
        expect([answer.status, answer.body.code]).to.deep.equal([401, 'UNAUTHENTICATED']);
        expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
        expect(answer.headers.get('content-type')).to.contain('application/problem+json');
      }
    });

    it('ING-1 two keys are live at once, for rotation', async () => {
      const second = await makeCredential(database.store, partner.partnerOrgId);
      const body = { stations: [stationOf(await station(), ['2026-05'])] };
      expect((await client.push(body)).status).to.equal(202);
      expect((await api.as({ key: second }).push(body)).status).to.equal(202);
    });

    it('ING-1 a station is the partner’s own: another’s is unknown, and the body cannot name a partner', async () => {
      const other = await makePartner(database.store);
      const { partnerStationNo } = await makeMapping(database.store, other.partnerOrgId);
      const answer = await client.push({ stations: [stationOf(partnerStationNo, ['2026-05'])] });
      expect(answer.body.receipts[0].reason).to.equal('UNKNOWN_STATION');
      const named = await client.push({ partnerOrgId: other.partnerOrgId, stations: [] });
      expect([named.status, named.body.code]).to.deep.equal([400, 'MALFORMED_BODY']);
    });
  });

  describe('what is accepted', () => {
    it('ING-5 ING-6 ING-8 all rows: 202 ACCEPTED, rows and station tasks are there, the station stage is woken', async () => {
      const [a, b] = [await station(), await station()];
      const answer = await client.push({
        stations: [stationOf(b, ['2026-06', '2026-05']), stationOf(a, ['2026-05'])],
      });
      expect(answer.status).to.equal(202);
      expect(answer.body).to.include({ code: 'ACCEPTED', ignoredFieldCount: 0 });
      expect(answer.body.counts).to.deep.equal({ requested: 3, accepted: 3, refused: 0 });
      expect(answer.body.amounts).to.deep.equal({ requested: '300.00', accepted: '300.00', refused: '0.00' });
      expect(answer.body.traceId).to.match(/^[0-9a-f]{32}$/);
      const { pushId } = answer.body;
      const rows = await database.store.many(
        `SELECT row_no, receipt_index, partner_station_no, bill_year_month, accepted, place, left_at, held.reason, held.rent
           FROM pushed_row JOIN pushed_row_place held USING (push_id, row_no) WHERE push_id = ? ORDER BY row_no`,
        [pushId],
      );
      const row = (
        row_no: number,
        receipt_index: number,
        partner_station_no: string,
        bill_year_month: string,
      ) => ({
        row_no,
        receipt_index,
        partner_station_no,
        bill_year_month,
        accepted: 1,
        place: 3,
        left_at: null,
        reason: null,
        rent: '100.00',
      });
      expect(rows).to.deep.equal([row(1, 2, a, '2026-05'), row(2, 1, b, '2026-05'), row(3, 0, b, '2026-06')]);
      const tasks = await database.store.many(
        `SELECT task_type, task_code, business_key, task_data, status, stage, partner_org_id, claimable, max_retry_count
           FROM fi_async_task WHERE push_id = ? ORDER BY id`,
        [pushId],
      );
      const task = (no: string, firstRowNo: number, lastRowNo: number) => ({
        task_type: 'PARTNER_STATION_BILL',
        task_code: `PSB:${pushId}:${no}`,
        business_key: `PSB:${pushId}:${no}`,
        task_data: {
          pushId,
          partnerStationNo: no,
          firstRowNo,
          lastRowNo,
          parentTraceId: answer.body.traceId,
        },
        status: 0,
        stage: 'bill-station',
        partner_org_id: partner.partnerOrgId,
        claimable: 1,
        max_retry_count: 8,
      });
      expect(tasks).to.deep.equal([task(a, 1, 1), task(b, 2, 3)]);
      expect(api.kicks).to.deep.equal([['bill-station', partner.partnerOrgId]]);
    });

    it('ING-3 ING-5 some rows: 202 PARTIALLY_ACCEPTED, dense receipts in request order, neighbours untouched', async () => {
      const no = await station();
      const answer = await client.push({
        stations: [
          {
            partnerStationNo: no,
            bills: [
              { billYearMonth: '2026-05', rent: '100', rowId: 'a' },
              { billYearMonth: '2026-13', rent: '5', rowId: 'b' },
              { billYearMonth: '2026-05', rent: '7', rowId: 'c' },
            ],
          },
          { partnerStationNo: 'nowhere', bills: [{ billYearMonth: '2026-05', rent: 3 }] },
        ],
      });
      expect([answer.status, answer.body.code]).to.deep.equal([202, 'PARTIALLY_ACCEPTED']);
      expect(answer.body.counts).to.deep.equal({ requested: 4, accepted: 1, refused: 3 });
      expect(answer.body.amounts).to.deep.equal({
        requested: '115.00',
        accepted: '100.00',
        refused: '15.00',
      });
      const receipts = answer.body.receipts.map(
        ({ index, partnerStationNo, billYearMonth, rowId, receipt, reason, pointer }: never) => [
          index,
          partnerStationNo,
          billYearMonth,
          rowId,
          receipt,
          reason,
          pointer,
        ],
      );
      expect(receipts).to.deep.equal([
        [0, no, '2026-05', 'a', 'ACCEPTED', null, null],
        [1, no, '2026-13', 'b', 'REFUSED', 'INVALID_FIELD', '/stations/0/bills/1/billYearMonth'],
        [2, no, '2026-05', 'c', 'REFUSED', 'DUPLICATE_IN_PUSH', '/stations/0/bills/2'],
        [3, 'nowhere', '2026-05', null, 'REFUSED', 'UNKNOWN_STATION', '/stations/1/partnerStationNo'],
      ]);
      for (const receipt of answer.body.receipts) expect(receipt.contentHash).to.match(/^[0-9a-f]{64}$/);
      const places = await database.store.many(
        'SELECT place, left_at, reason, rent FROM pushed_row_place WHERE push_id = ? ORDER BY row_no',
        [answer.body.pushId],
      );
      expect(places.map((row) => Object.values(row))).to.deep.equal([
        [1, 1, 'INVALID_FIELD', '5.00'],
        [3, null, null, '100.00'],
        [1, 1, 'DUPLICATE_IN_PUSH', '7.00'],
        [1, 1, 'UNKNOWN_STATION', '3.00'],
      ]);
      const [task] = await database.store.many<{ task_data: object }>(
        'SELECT task_data FROM fi_async_task WHERE push_id = ?',
        [answer.body.pushId],
      );
      expect(task?.task_data, 'the range may contain refused rows').to.include({
        firstRowNo: 1,
        lastRowNo: 3,
      });
    });

    it('ING-3 DEC-16 what is wrong with a station entry is told before what is wrong with its bills', async () => {
      const entry = stationOf(await station(), ['2026-05'], { rent: '-1' });
      const told = async (body: object) => (await client.push({ stations: [body] })).body.receipts[0].pointer;
      expect(await told({ ...entry, colour: 'red' })).to.equal('/stations/0/colour');
      expect(await told(entry)).to.equal('/stations/0/bills/0/rent');
    });

    it('ING-5 no row accepted: 422 REJECTED with receipts, nothing is stored, the identity stays free', async () => {
      const body = { stations: [stationOf('nowhere', ['2026-05', '2026-06'])] };
      const answer = await client.push(body, { identity: 'again' });
      expect([answer.status, answer.body.code]).to.deep.equal([422, 'REJECTED']);
      expect(answer.headers.get('content-type')).to.contain('application/problem+json');
      expect(answer.body.counts).to.deep.equal({ requested: 2, accepted: 0, refused: 2 });
      expect(answer.body.receipts).to.have.length(2);
      expect(await pushes()).to.deep.equal([]);
      await makeMapping(database.store, partner.partnerOrgId, { partner_station_no: 'nowhere' });
      const second = await client.push({ ...body, totalCount: 2 }, { identity: 'again' });
      expect([second.status, second.body.code]).to.deep.equal([202, 'ACCEPTED']);
      expect(api.kicks).to.have.length(1);
    });

    it('ING-5 no rows at all: 202 SKIPPED, a push without work', async () => {
      const answer = await client.push({ stations: [], totalCount: 0, totalAmount: '0' });
      expect([answer.status, answer.body.code]).to.deep.equal([202, 'SKIPPED']);
      expect(answer.body.receipts).to.deep.equal([]);
      expect(await pushes()).to.have.length(1);
      expect(api.kicks).to.deep.equal([]);
    });

    it('ING-3 the receipts of two entries of one station tell of one station', async () => {
      const no = await station();
      const answer = await client.push({
        stations: [stationOf(no, ['2026-05']), stationOf(no, ['2026-06', '2026-05'])],
      });
      expect(answer.body.receipts.map((one: { reason: string }) => one.reason)).to.deep.equal([
        null,
        null,
        'DUPLICATE_IN_PUSH',
      ]);
      expect(answer.body.receipts[2].message).to.contain('/stations/0/bills/0');
      const tasks = await database.store.many<{ task_data: object }>(
        'SELECT task_data FROM fi_async_task WHERE push_id = ?',
        [answer.body.pushId],
      );
      expect(tasks.map((task) => task.task_data)).to.have.length(1);
      expect(tasks[0]!.task_data).to.include({ firstRowNo: 1, lastRowNo: 3 });
    });

    it('DEC-1 a row duplicates only an accepted one', async () => {
      const no = await station();
      const bills = [
        { billYearMonth: '2026-05', rent: 'x' },
        { billYearMonth: '2026-05', rent: '1' },
        { billYearMonth: '2026-05', rent: '1' },
      ];
      const answer = await client.push({ stations: [{ partnerStationNo: no, bills }] });
      expect(answer.body.receipts.map((one: { reason: string }) => one.reason)).to.deep.equal([
        'INVALID_FIELD',
        null,
        'DUPLICATE_IN_PUSH',
      ]);
    });

    it('STA-11 DEC-3 what the partner and the mapping are decides: versions, periods, its own ids', async () => {
      const versioned = await makePartner(database.store, { versioned: 1 });
      const mapped = await makeMapping(database.store, versioned.partnerOrgId, {
        active_from_month: '2026-05',
        active_to_month: '2026-06',
      });
      const answer = await api.as(versioned).push({
        stations: [
          stationOf(mapped.partnerStationNo, ['2026-04', '2026-05'], { dataVersion: 3 }),
          stationOf(mapped.partnerStationNo, ['2026-06']),
          {
            ...stationOf(mapped.partnerStationNo, ['2026-06'], { dataVersion: 3 }),
            partnerStationId: 'OTHER',
          },
          {
            ...stationOf(mapped.partnerStationNo, ['2026-06'], { dataVersion: 3 }),
            partnerStationId: mapped.partnerStationId,
          },
        ],
      });
      const seen = answer.body.receipts.map((one: { reason: string; pointer: string }) => [
        one.reason,
        one.pointer,
      ]);
      expect(seen).to.deep.equal([
        ['UNKNOWN_STATION', '/stations/0/bills/0/billYearMonth'],
        [null, null],
        ['INVALID_FIELD', '/stations/1/bills/0/dataVersion'],
        ['INVALID_FIELD', '/stations/2/partnerStationId'],
        [null, null],
      ]);
    });

    it('DEC-1 a station number with a blank behind it is not the one without', async () => {
      const no = await station();
      const answer = await client.push({
        stations: [stationOf(`${no} `, ['2026-05']), stationOf(no, ['2026-05'])],
      });
      expect(answer.body.receipts.map((one: { reason: string }) => one.reason)).to.deep.equal([
        'INVALID_FIELD',
        null,
      ]);
    });

    it('DEC-1 station numbers that differ in case only are different stations', async () => {
      await makeMapping(database.store, partner.partnerOrgId, { partner_station_no: 'Case-1' });
      const answer = await client.push({
        stations: [stationOf('case-1', ['2026-05']), stationOf('Case-1', ['2026-05'])],
      });
      expect(answer.body.receipts.map((one: { reason: string }) => one.reason)).to.deep.equal([
        'UNKNOWN_STATION',
        null,
      ]);
    });

    it('ING-6 every field that was sent is in the row, as it was normalised', async () => {
      const mapped = await makeMapping(database.store, partner.partnerOrgId);
      const answer = await client.push({
        stations: [
          {
            partnerStationNo: mapped.partnerStationNo,
            partnerStationId: mapped.partnerStationId,
            householdName: '张三 😀 O\'Neil \\ "x" ?',
            rentPayMethod: 'BANK',
            bills: [
              {
                billYearMonth: '2026-05',
                settlementAmount: 1000.5,
                shareRatio: '0.85',
                period: 3,
                sharingBlockCount: 12,
                unitPrice: '0.355',
                rent: '9999999999999999.99',
                preRent: '1',
                freezeAmount: '2',
                deductionAmount: '3.10',
                remark: 're?mark',
                reason: "\\'; DROP TABLE partner_push; --",
                settlementBatchNo: 'B-1',
                isSupplement: true,
                dataVersion: 9007199254740991,
                rowId: 'row-1',
              },
            ],
          },
        ],
      });
      expect(answer.status).to.equal(202);
      const row = await database.store.one('SELECT * FROM pushed_row WHERE push_id = ?', [
        answer.body.pushId,
      ]);
      expect(row).to.include({
        accepted: 1,
        row_id: 'row-1',
        partner_station_id: mapped.partnerStationId,
        household_name: '张三 😀 O\'Neil \\ "x" ?',
        rent_pay_method: 'BANK',
        bill_year_month: '2026-05',
        settlement_amount: '1000.50',
        share_ratio: '0.850000',
        period: 3,
        sharing_block_count: 12,
        unit_price: '0.355000',
        rent: '9999999999999999.99',
        pre_rent: '1.00',
        freeze_amount: '2.00',
        deduction_amount: '3.10',
        remark: 're?mark',
        reason: "\\'; DROP TABLE partner_push; --",
        settlement_batch_no: 'B-1',
        is_supplement: 1,
        data_version: '9007199254740991',
        content_hash: answer.body.receipts[0].contentHash,
      });
    });

    it('ING-6 accept numbers are dense and in the order of the pushes of their partner', async () => {
      const no = await station();
      const numbers = [];
      for (let at = 0; at < 3; at++) {
        const { body } = await client.push({ stations: [stationOf(no, ['2026-05'])] });
        const row = await database.store.one<{ accept_no: string }>(
          'SELECT accept_no FROM partner_push WHERE push_id = ?',
          [body.pushId],
        );
        numbers.push(row.accept_no);
      }
      expect(numbers).to.deep.equal(['1', '2', '3']);
    });

    it('ING-6 if the last statement fails, nothing of the push is there and the answer is no 202', async () => {
      const no = await station();
      const setSequence = (value: string) =>
        database.store.change('UPDATE partner SET accept_seq = ? WHERE partner_org_id = ?', [
          value,
          partner.partnerOrgId,
        ]);
      await setSequence('18446744073709551615');
      const answer = await client.push(
        { stations: [stationOf(no, ['2026-05'])] },
        { identity: 'rolled-back' },
      );
      expect([answer.status, answer.body.code]).to.deep.equal([500, 'INTERNAL']);
      expect(answer.text).to.not.contain('accept_seq');
      await setSequence('0');
      expect(await pushes()).to.deep.equal([]);
      expect(api.kicks).to.deep.equal([]);
      const again = await client.push(
        { stations: [stationOf(no, ['2026-05'])] },
        { identity: 'rolled-back' },
      );
      expect(again.body.code).to.equal('ACCEPTED');
    });
  });

  describe('control totals', () => {
    const body = async () => ({ stations: [stationOf(await station(), ['2026-05', '2026-06'])] });

    it('ING-9 that add up are taken, as texts or as numbers', async () => {
      expect(
        (await client.push({ ...(await body()), totalCount: 2, totalAmount: '200.00' })).status,
      ).to.equal(202);
      expect((await client.push({ ...(await body()), totalCount: 2, totalAmount: 200.0 })).status).to.equal(
        202,
      );
      expect((await client.push({ ...(await body()), totalCount: null, totalAmount: null })).status).to.equal(
        202,
      );
    });

    it('ING-9 DEC-16 that do not add up refuse the whole push with both numbers, before any row is judged', async () => {
      const stations = [stationOf('nowhere', ['2026-05']), stationOf('nowhere', ['2026-06'], { rent: '-5' })];
      const answer = await client.push({ stations, totalCount: 3, totalAmount: '95.00' });
      expect([answer.status, answer.body.code]).to.deep.equal([422, 'TOTALS_MISMATCH']);
      expect(answer.body.mismatches).to.deep.equal([
        { field: 'totalCount', stated: '3', found: '2' },
        { field: 'totalAmount', stated: '95.00', found: '100.00' },
      ]);
      expect(answer.body.unreadableRents).to.deep.equal({ count: 1, pointers: ['/stations/1/bills/0'] });
      expect(await pushes()).to.deep.equal([]);
    });

    it('ING-9 they cover refused rows, too', async () => {
      const stations = [stationOf(await station(), ['2026-05', '2026-05'])];
      const answer = await client.push({ stations, totalCount: 2, totalAmount: '200' });
      expect(answer.body.code).to.equal('PARTIALLY_ACCEPTED');
    });

    for (const [field, value] of [
      ['totalCount', -1],
      ['totalCount', '2'],
      ['totalAmount', '1e2'],
      ['totalAmount', '200.005'],
      ['totalAmount', {}],
    ] as const) {
      it(`ING-9 ${field} ${JSON.stringify(value)} is no total: 400`, async () => {
        const answer = await client.push({ stations: [], [field]: value });
        expect([answer.status, answer.body.code, answer.body.pointer]).to.deep.equal([
          400,
          'MALFORMED_BODY',
          `/${field}`,
        ]);
      });
    }

    it('DEC-1 rents that add up to more than can be held are refused as a whole', async () => {
      const stations = [stationOf(await station(), ['2026-05', '2026-06'], { rent: '9999999999999999.99' })];
      const answer = await client.push({ stations });
      expect([answer.status, answer.body.code]).to.deep.equal([422, 'AMOUNT_TOO_LARGE']);
    });
  });

  describe('a dry run', () => {
    it('ING-9 DEC-16 goes the same way, answers 200 with the same receipts, and leaves nothing', async () => {
      const stations = [
        stationOf(await station(), ['2026-05', '2026-05']),
        stationOf('nowhere', ['2026-05']),
      ];
      const dry = await client.push({ stations }, { identity: 'dry', query: '?dryRun=true' });
      expect([dry.status, dry.body.code, dry.body.dryRun]).to.deep.equal([200, 'PARTIALLY_ACCEPTED', true]);
      expect(await pushes()).to.deep.equal([]);
      const wet = await client.push({ stations }, { identity: 'dry' });
      expect([wet.status, wet.body.code]).to.deep.equal([202, 'PARTIALLY_ACCEPTED']);
      expect(wet.body.receipts).to.deep.equal(dry.body.receipts);
      expect(wet.body.amounts).to.deep.equal(dry.body.amounts);
      const other = await client.push({ stations: [] }, { identity: 'dry', query: '?dryRun=true' });
      expect(other.status, 'it does not even look the identity up').to.equal(200);
    });

    it('DEC-16 answers 200 whatever the receipts, but needs an identity and totals that add up', async () => {
      const stations = [stationOf('nowhere', ['2026-05'])];
      const rejected = await client.push({ stations }, { query: '?dryRun=true' });
      expect([rejected.status, rejected.body.code]).to.deep.equal([200, 'REJECTED']);
      expect((await client.push({ stations }, { query: '?dryRun=true', identity: null })).status).to.equal(
        400,
      );
      expect((await client.push({ stations, totalCount: 9 }, { query: '?dryRun=true' })).status).to.equal(
        422,
      );
      expect((await client.push({ stations }, { query: '?dryRun=yes' })).body.code).to.equal(
        'MALFORMED_QUERY',
      );
    });
  });

  describe('a query parameter that is not known', () => {
    const misspelt: readonly [query: string, parameter: string][] = [
      ['?totalcount=5', 'totalcount'],
      ['?totalAmount=100.00&total_count=5', 'total_count'],
      ['?dryrun=true', 'dryrun'],
      ['?DryRun=true', 'DryRun'],
      ['?Strict=false', 'Strict'],
      ['?dryRun%20=true', 'dryRun '],
      ['?totalCount[]=5', 'totalCount[]'],
      ['?__proto__=1', '__proto__'],
      ['?=1', ''],
    ];
    for (const [query, parameter] of misspelt) {
      it(`ING-9 ING-10 ${query} is refused by its name, beside those that are known; nothing is stored`, async () => {
        const stations = [stationOf(await station(), ['2026-05'])];
        const answer = await client.push({ stations }, { identity: 'misspelt', query });
        expect([answer.status, answer.body.code, answer.body.parameter]).to.deep.equal([
          400,
          'MALFORMED_QUERY',
          parameter,
        ]);
        const known = ['dryRun', 'strict', 'totalCount', 'totalAmount'];
        expect(answer.body.known).to.deep.equal(known);
        expect(answer.body.detail).to.contain(JSON.stringify(parameter)).and.contain(known.join(', '));
        expect(await pushes()).to.deep.equal([]);
        expect(
          (await client.push({ stations }, { identity: 'misspelt' })).status,
          'the identity is free',
        ).to.equal(202);
      });
    }
  });

  describe('unknown fields', () => {
    it('DEC-1 DEC-17 refuse their rows, at the top the push; with strict=false they are ignored and counted', async () => {
      const known = stationOf(await station(), ['2026-05']);
      const stations = [
        { ...known, owner: 'x', bills: [{ billYearMonth: '2026-05', rent: '1', colour: 'red' }] },
        known,
      ];
      const strict = await client.push({ stations });
      expect(strict.body.receipts.map((one: { pointer: string }) => one.pointer)).to.deep.equal([
        '/stations/0/owner',
        null,
      ]);
      const top = await client.push({ stations, sender: 'x' });
      expect([top.status, top.body.pointer]).to.deep.equal([400, '/sender']);
      const lenient = await client.push(
        { stations: stations.slice(0, 1), sender: 'x' },
        { query: '?strict=false' },
      );
      expect([lenient.status, lenient.body.code, lenient.body.ignoredFieldCount]).to.deep.equal([
        202,
        'ACCEPTED',
        3,
      ]);
    });
  });
});
