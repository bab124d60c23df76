/** ING-7: a push of 100,000 rows, in a process whose heap could not hold it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import type { SqlValue } from '../../src/store/sql.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { type MadePartner, makeBillLock, makePartner } from '../support/factory.ts';
import { bodyIn, FORMS, type Form, type StationToSend } from '../support/push-formats.ts';

const STATIONS = 8_334;
const MONTHS = 12;
const ROWS = 100_000;
/** The body has some 30 MB of text, which would be more than 100 MB of objects. */
const HEAP_MB = 96;
const [JSON_FORM, , , NDJSON_ZIPPED, , CSV_ZIPPED] = FORMS as [Form, Form, Form, Form, Form, Form];
const GROWTH_BYTES_MAX = 150 * 1024 * 1024;

describe('a push of 100,000 rows', () => {
  let database: TestStore;
  let partner: MadePartner;
  let child: ChildProcess;
  let url: string;
  /** The push that all tests look at, sent by whichever of them comes first. */
  let sent: ReturnType<typeof sendFirst> | null = null;

  before(async function () {
    this.timeout(60_000);
    database = await openTestStore();
    partner = await makePartner(database.store);
    await mapStations();
    child = fork(new URL('../support/ingest-process.ts', import.meta.url), [database.databaseUrl], {
      execArgv: [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=8'],
    });
    const [ready] = (await once(child, 'message')) as [{ url: string }];
    url = ready.url;
  });
  after(async () => {
    if (child.connected) {
      child.send('stop');
      await once(child, 'exit');
    }
    await database.drop();
  });

  const stationNo = (at: number) => `STATION-${String(at).padStart(7, '0')}`;

  async function mapStations(): Promise<void> {
    const rows = Array.from({ length: STATIONS }, (_, at): SqlValue[] => [
      partner.partnerOrgId,
      stationNo(at),
      `SID${at}`,
      500_000 + at,
      1,
      'Company',
      '2010-01',
    ]);
    for (let from = 0; from < rows.length; from += 1_000) {
      const chunk = rows.slice(from, from + 1_000);
      await database.store.change(
        `INSERT INTO station_mapping (partner_org_id, partner_station_no, partner_station_id, platform_station_id,
           project_company_id, project_company_name, active_from_month) VALUES ${chunk.map(() => '(?, ?, ?, ?, ?, ?, ?)').join(', ')}`,
        chunk.flat(),
      );
    }
  }

  function bill(at: number) {
    const month = `2025-${String((at % MONTHS) + 1).padStart(2, '0')}`;
    return {
      billYearMonth: month,
      settlementAmount: '1234.56',
      shareRatio: '0.85',
      period: 3,
      sharingBlockCount: 12,
      unitPrice: '0.355',
      rent: '120.00',
      preRent: '0.00',
      freezeAmount: '0',
      deductionAmount: '10.5',
      remark: '月度收益 正常结算',
      rowId: `r-${at}`,
    };
  }

  /** In the order of the months, so that no two rows of a station are near each other in the request. */
  function stationsToSend(): StationToSend[] {
    const stations: StationToSend[] = [];
    for (let at = 0; at < ROWS; at++) {
      const station = Math.floor(at / MONTHS);
      stations.push({
        partnerStationNo: stationNo(station),
        partnerStationId: `SID${station}`,
        bills: [bill(at)],
      });
    }
    return stations.map((_, at) => stations[(at * 7_919) % ROWS]!);
  }

  const QUERY = `?totalCount=${ROWS}&totalAmount=12000000.00`;

  async function push(form: Form, body: Buffer, identity: string) {
    const startedMs = performance.now();
    const response = await fetch(`${url}/api/v1/pushes${QUERY}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${partner.key}`,
        ...form.headers,
        'idempotency-key': identity,
      },
      body,
    });
    const text = await response.text();
    return {
      status: response.status,
      replayed: response.headers.get('idempotency-replayed'),
      body: JSON.parse(text),
      seconds: (performance.now() - startedMs) / 1000,
    };
  }

  async function memory(): Promise<{ rss: number; peakRss: number }> {
    child.send('rss');
    return (await once(child, 'message'))[0];
  }

  async function sendFirst() {
    await makeBillLock(database.store, { platformStationId: '500007', month: '2025-03' });
    const body = bodyIn(JSON_FORM, stationsToSend());
    const before = await memory();
    const answer = await push(JSON_FORM, body, 'large');
    return { body, answer, restRss: before.rss, peakRss: (await memory()).peakRss };
  }
  function firstPush() {
    sent ??= sendFirst();
    return sent;
  }

  it('ING-7 is accepted within fixed memory, each row with its receipt in request order; so is its replay', async function () {
    this.timeout(240_000);
    const { body, answer: first, restRss, peakRss } = await firstPush();
    expect([first.status, first.body.code]).to.deep.equal([202, 'PARTIALLY_ACCEPTED']);
    expect(first.body.counts).to.deep.equal({ requested: ROWS, accepted: ROWS - 1, refused: 1 });
    expect(first.body.receipts).to.have.length(ROWS);
    first.body.receipts.forEach((receipt: { index: number; rowId: string }, at: number) => {
      if (receipt.index !== at || receipt.rowId !== `r-${(at * 7_919) % ROWS}`)
        throw new Error(`Receipt ${at} is not in order`);
    });
    console.log(
      `      ${first.seconds.toFixed(1)} s for ${(body.length / 1e6).toFixed(0)} MB, resident memory +${((peakRss - restRss) / 1e6).toFixed(0)} MB`,
    );
    expect(peakRss - restRss).to.be.lessThan(GROWTH_BYTES_MAX);

    const second = await push(JSON_FORM, body, 'large');
    expect([second.status, second.replayed]).to.deep.equal([202, 'true']);
    expect(
      second.body.receipts.every(
        (receipt: object, at: number) => JSON.stringify(receipt) === JSON.stringify(first.body.receipts[at]),
      ),
    ).to.equal(true);
  });

  // A repeat is read, checked and hashed like the first, and all its receipts are sent; only the inserts are saved.
  for (const form of [NDJSON_ZIPPED, CSV_ZIPPED]) {
    it(`ING-2 ING-7 as ${form.name} it is read within the same memory, and is the same push`, async function () {
      this.timeout(240_000);
      const { answer: first, restRss } = await firstPush();
      const text = bodyIn(form, stationsToSend());
      const answer = await push(form, text, 'large');
      expect([answer.status, answer.replayed]).to.deep.equal([202, 'true']);
      expect(
        answer.body.receipts.every(
          (receipt: object, at: number) =>
            JSON.stringify(receipt) === JSON.stringify(first.body.receipts[at]),
        ),
      ).to.equal(true);
      const { peakRss } = await memory();
      console.log(
        `      ${answer.seconds.toFixed(1)} s for ${(text.length / 1e6).toFixed(1)} MB, resident memory +${((peakRss - restRss) / 1e6).toFixed(0)} MB`,
      );
      expect(peakRss - restRss).to.be.lessThan(GROWTH_BYTES_MAX);
    });
  }

  it('ING-6 a station’s rows lie together, and every accepted row belongs to the range of exactly one task', async function () {
    this.timeout(240_000);
    await firstPush();
    const push = await database.store.one<{ push_id: string }>(
      'SELECT push_id FROM partner_push WHERE partner_org_id = ?',
      [partner.partnerOrgId],
    );
    const tasks = await database.store.one<{ n: string; rows: string; gaps: string }>(
      `SELECT COUNT(*) n, SUM(last_no - first_no + 1) 'rows', SUM(first_no <> previous + 1) gaps FROM (
         SELECT first_no, last_no, COALESCE(LAG(last_no) OVER (ORDER BY first_no), 0) previous FROM (
           SELECT JSON_EXTRACT(task_data, '$.firstRowNo') + 0 first_no, JSON_EXTRACT(task_data, '$.lastRowNo') + 0 last_no FROM fi_async_task WHERE push_id = ?) ranges) chained`,
      [push.push_id],
    );
    expect([tasks.n, Number(tasks.rows), Number(tasks.gaps)]).to.deep.equal([String(STATIONS), ROWS, 0]);
    const strays = await database.store.one<{ n: string }>(
      `SELECT COUNT(*) n FROM fi_async_task task JOIN pushed_row sent ON sent.push_id = task.push_id AND sent.row_no = JSON_EXTRACT(task.task_data, '$.firstRowNo') + 0
        WHERE task.push_id = ? AND sent.partner_station_no <> JSON_UNQUOTE(JSON_EXTRACT(task.task_data, '$.partnerStationNo'))`,
      [push.push_id],
    );
    expect(strays.n).to.equal('0');
  });
});
