/** JSON, NDJSON and CSV, zipped or not, over HTTP: the same push is the same push (ING-2, ING-7, ING-9). */
import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { type MadePartner, makeBillLock, makeMapping, makePartner } from '../support/factory.ts';
import {
  type Answer,
  type PartnerApi,
  type PartnerClient,
  type PushRequest,
  startPartnerApi,
} from '../support/partner-api.ts';
import { bodyIn, FORMS, type Form, type StationToSend } from '../support/push-formats.ts';

const [JSON_FORM, , NDJSON, , CSV] = FORMS as [Form, Form, Form, Form, Form, Form];
const HEADER = 'partnerStationNo,billYearMonth,rent';

describe('the formats of a push', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let client: PartnerClient;
  let no: string;
  let lockedNo: string;

  before(async () => {
    database = await openTestStore();
    api = await startPartnerApi(database.store, { limits: { rowsMax: 20, stationsMax: 4 } });
    partner = await makePartner(database.store);
    client = api.as(partner);
    no = (await makeMapping(database.store, partner.partnerOrgId)).partnerStationNo;
    const locked = await makeMapping(database.store, partner.partnerOrgId);
    lockedNo = locked.partnerStationNo;
    await makeBillLock(database.store, { platformStationId: locked.platformStationId!, month: '2026-05' });
  });
  after(async () => {
    await api.close();
    await database.drop();
  });

  const send = (form: Form, body: unknown, request: PushRequest = {}): Promise<Answer> =>
    client.push(body, { ...request, headers: { ...form.headers, ...request.headers } });

  /** A row of every kind that all formats can write. */
  const everyKind = (): StationToSend[] => [
    {
      partnerStationNo: no,
      householdName: '王 "小明", 户主\n二',
      bills: [
        {
          billYearMonth: '2026-05',
          rent: '120.5',
          period: 3,
          shareRatio: '0.85',
          isSupplement: true,
          rowId: 'a',
        },
        { billYearMonth: '2026-05', rent: '1', remark: 'a,b\r\n"c"', isSupplement: false, rowId: 'twice' },
        { billYearMonth: '2026/05', rent: '1', dataVersion: 7 },
        { billYearMonth: '2026-06', rent: '-5.001' },
        { billYearMonth: '2026-06', rent: '1', period: 'three', isSupplement: 'yes' },
        { billYearMonth: '2026-06' },
      ],
    },
    { partnerStationNo: 'nowhere', bills: [{ billYearMonth: '2026-05', rent: '1' }] },
    { partnerStationNo: lockedNo, bills: [{ billYearMonth: '2026-05', rent: '1' }] },
    { partnerStationNo: no, bills: [{ billYearMonth: '2026-06', rent: '7' }] },
    { bills: [{ billYearMonth: '2026-05', rent: '1' }] },
  ];

  for (const first of FORMS) {
    it(`ING-2 sent first as ${first.name}, it is a repeat in every other form`, async () => {
      const identity = `first-as-${first.name.replace(' ', '-')}`;
      const query = '?totalCount=10&totalAmount=133.50';
      const answer = await send(first, bodyIn(first, everyKind()), { identity, query });
      expect(answer.status, answer.text).to.equal(202);
      expect(answer.body.counts).to.deep.equal({ requested: 10, accepted: 2, refused: 8 });
      for (const form of FORMS) {
        const again = await send(form, bodyIn(form, everyKind()), { identity, query });
        expect(again.headers.get('idempotency-replayed'), form.name).to.equal('true');
        expect(again.body, form.name).to.deep.equal({ ...answer.body, code: 'IDEMPOTENCY' });
      }
      const other = everyKind().slice(0, -1);
      for (const form of FORMS) {
        const differing = await send(form, bodyIn(form, other), { identity });
        expect([differing.status, differing.body.code], form.name).to.deep.equal([422, 'IDENTITY_REUSED']);
      }
    });
  }

  it('ING-3 a receipt says the same in every form, but for where it points', async () => {
    const pointers: Record<string, string[]> = {};
    const told: unknown[] = [];
    for (const form of FORMS) {
      const { body } = await send(form, bodyIn(form, everyKind()), { query: '?dryRun=true' });
      pointers[form.name] = body.receipts.map((receipt: { pointer: string | null }) => receipt.pointer);
      told.push(
        body.receipts.map(({ pointer: _pointer, message, ...receipt }: Record<string, string | null>) => ({
          ...receipt,
          message: message?.replace(/\/(lines|stations)\/\S+/, '…'),
        })),
      );
    }
    for (const one of told) expect(one).to.deep.equal(told[0]);
    expect(pointers.json).to.deep.equal([
      null,
      '/stations/0/bills/1',
      '/stations/0/bills/2/billYearMonth',
      '/stations/0/bills/3/rent',
      '/stations/0/bills/4/period',
      '/stations/0/bills/5/rent',
      '/stations/1/partnerStationNo',
      '/stations/2/bills/0',
      null,
      '/stations/4/partnerStationNo',
    ]);
    expect(pointers['ndjson gzip']).to.deep.equal([
      null,
      '/lines/1/bills/1',
      '/lines/1/bills/2/billYearMonth',
      '/lines/1/bills/3/rent',
      '/lines/1/bills/4/period',
      '/lines/1/bills/5/rent',
      '/lines/2/partnerStationNo',
      '/lines/3/bills/0',
      null,
      '/lines/5/partnerStationNo',
    ]);
    // The first two bills have quoted cells with a line feed each, the second one two.
    expect(pointers.csv).to.deep.equal([
      null,
      '/lines/4',
      '/lines/7/billYearMonth',
      '/lines/9/rent',
      '/lines/11/period',
      '/lines/13/rent',
      '/lines/15/partnerStationNo',
      '/lines/16',
      null,
      '/lines/18/partnerStationNo',
    ]);
  });

  it('ING-6 STA-5 the lines of a station in CSV need not stand together, each keeps its own header fields', async () => {
    const other = (await makeMapping(database.store, partner.partnerOrgId)).partnerStationNo;
    const [a, b] = [no, other].sort() as [string, string];
    const answer = await send(
      CSV,
      [
        `householdName,${HEADER}`,
        `second,${b},2026-04,1`,
        `no month,${a},2026-4,1`,
        `,${a},2026-03,2`,
        `first,${b},2026-03,3`,
        `name,${a},2026-02,4`,
      ].join('\n'),
    );
    expect(answer.body.receipts.map((one: { receipt: string }) => one.receipt)).to.deep.equal([
      'ACCEPTED',
      'REFUSED',
      'ACCEPTED',
      'ACCEPTED',
      'ACCEPTED',
    ]);
    const rows = await database.store.many(
      `SELECT row_no, receipt_index, partner_station_no, household_name FROM pushed_row WHERE push_id = ? ORDER BY row_no`,
      [answer.body.pushId],
    );
    const row = (
      row_no: number,
      receipt_index: number,
      partner_station_no: string,
      household_name: string | null,
    ) => ({
      row_no,
      receipt_index,
      partner_station_no,
      household_name,
    });
    expect(rows).to.deep.equal([
      row(1, 1, a, 'no month'),
      row(2, 4, a, 'name'),
      row(3, 2, a, null),
      row(4, 3, b, 'first'),
      row(5, 0, b, 'second'),
    ]);
    const tasks = await database.store.many<{ task_data: { firstRowNo: number; lastRowNo: number } }>(
      'SELECT task_data FROM fi_async_task WHERE push_id = ? ORDER BY id',
      [answer.body.pushId],
    );
    expect(tasks.map(({ task_data: { firstRowNo, lastRowNo } }) => [firstRowNo, lastRowNo])).to.deep.equal([
      [1, 3],
      [4, 5],
    ]);
  });

  it('ING-5 no rows: SKIPPED, in each format; and the same content in all of them', async () => {
    for (const [form, body] of [
      [JSON_FORM, '{"stations":[]}'],
      [NDJSON, '\n'],
      [CSV, `${HEADER}\r\n`],
    ] as const) {
      const answer = await send(form, body, { identity: `none-${form.name}` });
      expect([answer.status, answer.body.code]).to.deep.equal([202, 'SKIPPED']);
      expect((await send(CSV, HEADER, { identity: `none-${form.name}` })).body.code).to.equal('IDEMPOTENCY');
    }
  });

  it('ING-5 ING-10 no bytes: 400 in each format', async () => {
    for (const form of [JSON_FORM, NDJSON, CSV]) {
      const answer = await send(form, '');
      expect([answer.status, answer.body.code], form.name).to.deep.equal([400, 'MALFORMED_BODY']);
    }
  });

  it('ING-10 other names of NDJSON are read, too', async () => {
    for (const type of ['application/ndjson', 'application/jsonl', 'Application/X-NDJSON; charset="UTF-8"']) {
      const answer = await send(NDJSON, '\n', { headers: { 'content-type': type } });
      expect(answer.status, type).to.equal(202);
    }
  });

  it('ING-2 a body that cannot be read occupies no identity, and nothing of it is stored', async () => {
    const identity = 'unreadable';
    const fine = `${no},2026-01,1`;
    const broken = await send(CSV, `${HEADER}\n${fine}\n"x`, { identity });
    expect([broken.status, broken.body.code, broken.body.line]).to.deep.equal([400, 'MALFORMED_BODY', 3]);
    const cut = await send(NDJSON, `{"partnerStationNo":"${no}","bills":[]}\n{`, { identity });
    expect([cut.status, cut.body.code, cut.body.line]).to.deep.equal([400, 'MALFORMED_BODY', 2]);
    expect((await send(CSV, `${HEADER}\n${fine}`, { identity })).body.code).to.equal('ACCEPTED');
  });

  it('DEC-1 an unknown column: 400 in strict mode; else ignored, its cells counted as the fields of JSON are', async () => {
    const stations = [
      { partnerStationNo: no, bills: [{ billYearMonth: '2026-01', rent: '1', colour: 'red' }] },
      { partnerStationNo: no, bills: [{ billYearMonth: '2026-02', rent: '1' }] },
    ];
    const body = `colour,${HEADER}\nred,${no},2026-01,1\n,${no},2026-02,1`;
    expect((await send(CSV, body)).body.detail).to.contain('has "colour", which no bill has');
    const identity = 'colours';
    const query = '?strict=false';
    const ignored = await send(CSV, body, { identity, query });
    expect([ignored.body.code, ignored.body.ignoredFieldCount]).to.deep.equal(['ACCEPTED', 1]);
    const again = await send(JSON_FORM, bodyIn(JSON_FORM, stations), { identity, query });
    expect(again.body).to.deep.equal({ ...ignored.body, code: 'IDEMPOTENCY' });
  });

  it('STA-11 a versioned partner needs the version in each row, not the column in every file', async () => {
    const versioned = await makePartner(database.store, { versioned: 1 });
    const mapped = await makeMapping(database.store, versioned.partnerOrgId);
    const push = (body: string) => api.as(versioned).push(body, { headers: CSV.headers });
    const line = `${mapped.partnerStationNo},2026-01,1`;
    expect((await push(`${HEADER}\n${line}`)).body.receipts[0].pointer).to.equal('/lines/2/dataVersion');
    expect((await push(`${HEADER},dataVersion\n${line},1`)).body.code).to.equal('ACCEPTED');
  });

  it('ING-7 one row or one station too many: 413 that names the limit, in each form', async () => {
    const rows = Array.from({ length: 21 }, (_, at) => ({ billYearMonth: `20${at + 10}-01`, rent: '1' }));
    const stations = ['a', 'b', 'c', 'd', 'e'].map((name) => ({
      partnerStationNo: name,
      bills: [{ billYearMonth: '2026-01', rent: '1' }],
    }));
    for (const form of FORMS) {
      const many = await send(form, bodyIn(form, [{ partnerStationNo: no, bills: rows }]));
      expect([many.status, many.body.limit], form.name).to.deep.equal([413, { name: 'rowsMax', value: 20 }]);
      const wide = await send(form, bodyIn(form, stations));
      expect([wide.status, wide.body.limit], form.name).to.deep.equal([
        413,
        { name: 'stationsMax', value: 4 },
      ]);
    }
  });

  describe('control totals in the query', () => {
    const stations = () => [
      {
        partnerStationNo: no,
        bills: [
          { billYearMonth: '2026-01', rent: '100.10' },
          { billYearMonth: '2026-02', rent: 'x' },
        ],
      },
    ];

    for (const form of FORMS) {
      it(`ING-9 with ${form.name}: add up, or refuse the whole push with both numbers`, async () => {
        const body = bodyIn(form, stations());
        const fits = await send(form, body, { query: '?totalCount=2&totalAmount=100.1' });
        expect(fits.body.code).to.equal('PARTIALLY_ACCEPTED');
        const differs = await send(form, body, { query: '?totalCount=3&totalAmount=100.11' });
        expect([differs.status, differs.body.code]).to.deep.equal([422, 'TOTALS_MISMATCH']);
        expect(differs.body.mismatches).to.deep.equal([
          { field: 'totalCount', stated: '3', found: '2' },
          { field: 'totalAmount', stated: '100.11', found: '100.10' },
        ]);
        expect(differs.body.unreadableRents.count).to.equal(1);
      });
    }

    it('ING-9 beside those of a JSON body: the same are fine, different ones are 400, whatever is right', async () => {
      const body = { stations: stations(), totalCount: 2, totalAmount: 100.1 };
      expect((await client.push(body, { query: '?totalCount=2&totalAmount=100.10' })).status).to.equal(202);
      for (const query of ['?totalCount=3', '?totalAmount=100.11']) {
        const answer = await client.push(body, { query });
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'TOTALS_CONFLICT']);
        expect(answer.body.detail).to.match(/the body says (2|100\.10), the query (3|100\.11)/);
      }
      const halves = { stations: stations(), totalCount: 2 };
      expect((await client.push(halves, { query: '?totalAmount=7' })).body.code).to.equal('TOTALS_MISMATCH');
    });

    it('ING-2 are the same content as in the body, and other content than none', async () => {
      const identity = 'totals';
      await client.push({ stations: stations(), totalCount: 2 }, { identity });
      const query = '?totalCount=2';
      expect((await send(CSV, bodyIn(CSV, stations()), { identity, query })).body.code).to.equal(
        'IDEMPOTENCY',
      );
      expect((await send(CSV, bodyIn(CSV, stations()), { identity })).body.code).to.equal('IDENTITY_REUSED');
    });

    it('ING-2 an amount that was not there before is other content, too', async () => {
      const identity = 'total-amount';
      await client.push({ stations: stations() }, { identity });
      const second = await client.push({ stations: stations(), totalAmount: '100.10' }, { identity });
      expect([second.status, second.body.code]).to.deep.equal([422, 'IDENTITY_REUSED']);
    });

    for (const query of [
      'totalCount=',
      'totalCount=-1',
      'totalCount=2.5',
      'totalCount=two',
      'totalAmount=',
      'totalAmount=1e2',
      'totalAmount=1.005',
      'totalCount=2&totalCount=2',
    ]) {
      it(`ING-9 ${query} is no total: 400, before the body is looked at`, async () => {
        const answer = await send(CSV, 'nonsense', { query: `?${query}` });
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'MALFORMED_QUERY']);
        expect(answer.body.parameter).to.equal(query.split('=')[0]);
      });
    }
  });
});
