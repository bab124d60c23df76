/** ING-2, ING-7: whatever the rows, however written, zipped and broken into pieces: the same push in every format. */
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import fc from 'fast-check';
import { bodySink } from '../../src/ingest/body-sink.ts';
import { checkRows } from '../../src/ingest/check-rows.ts';
import { csvStations } from '../../src/ingest/csv-station-source.ts';
import { jsonStations } from '../../src/ingest/json-station-source.ts';
import { ndjsonStations } from '../../src/ingest/ndjson-station-source.ts';
import { judgedReceipts } from '../../src/ingest/receipts.ts';
import { orderRows } from '../../src/ingest/row-order.ts';
import { SpoolFile } from '../../src/ingest/spool-file.ts';
import type { StationSource } from '../../src/ingest/station-source.ts';
import { Verdicts } from '../../src/ingest/verdicts.ts';
import { LIMITS } from '../support/partner-api.ts';
import { assertProperty } from '../support/properties.ts';
import { COLUMNS, csvCell, type StationToSend } from '../support/push-formats.ts';
import { piecesOf } from '../support/source-events.ts';

const RULES = { strict: true, versioned: false, currentMonth: '2026-11' };
const NO_TOTALS = { count: null, amount: null };
const MAPPING = {
  partnerStationId: 'SID',
  platformStationId: null,
  activeFromMonth: '2020-01',
  activeToMonth: null,
};

/** How a body is written and sent; each choice is used again and again, in turn. */
interface Manner {
  readonly choices: readonly number[];
  readonly pieceBytes: number;
  readonly zipped: boolean;
}

/** CSV has no empty text, and no format a NUL or half a character. */
const text = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }),
    fc.string({
      minLength: 1,
      maxLength: 12,
      unit: fc.constantFrom('"', ',', '\r', '\n', ' ', 'a', '电', '😀'),
    }),
  )
  .filter((value) => !value.includes('\0'));
const amount = fc.oneof(
  fc.constantFrom('0', '7', '007.50', '120.00', '-5', '1e2', '1.005'),
  fc.integer({ min: -2, max: 900 }),
  fc.integer({ min: 0, max: 9000 }).map((cents) => cents / 100),
  text,
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2, nil: undefined });
const bill = fc.record({
  billYearMonth: fc.oneof(fc.constantFrom('2026-05', '2026-06', '2026-13', '2030-01'), maybe(text)),
  rent: fc.oneof(fc.constantFrom('1', '100.00'), maybe(amount)),
  preRent: maybe(amount),
  shareRatio: maybe(fc.constantFrom('0.85', '1', '2')),
  period: maybe(fc.oneof(fc.integer(), fc.constantFrom(1.5, 1e21, 'x'))),
  isSupplement: maybe(fc.constantFrom(true, false, 'yes')),
  remark: maybe(text),
  rowId: maybe(text),
});
const station = fc.record({
  partnerStationNo: fc.oneof(fc.constantFrom('A', 'B'), maybe(text)),
  partnerStationId: maybe(fc.constantFrom('SID', 'other')),
  householdName: maybe(text),
  bills: fc.array(bill, { maxLength: 4 }),
});
const manner: fc.Arbitrary<Manner> = fc.record({
  choices: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 40 }),
  pieceBytes: fc.integer({ min: 1, max: 90 }),
  zipped: fc.boolean(),
});

function choosing(choices: readonly number[]): (oneIn: number) => boolean {
  let at = 0;
  return (oneIn) => choices[at++ % choices.length]! % oneIn === 0;
}

function csvText(stations: readonly StationToSend[], { choices }: Manner): string {
  const choose = choosing(choices);
  const columns = [...COLUMNS].sort(() => (choose(2) ? 1 : -1));
  const cell = (value: unknown) => {
    const plain = csvCell(value);
    return choose(3) && !plain.startsWith('"') ? `"${plain}"` : plain;
  };
  const end = () => (choose(2) ? '\r\n' : '\n') + (choose(5) ? '\n' : '');
  let body = `${choose(2) ? '\ufeff' : ''}${columns.map(cell).join(',')}${end()}`;
  for (const { bills, ...own } of stations) {
    for (const one of bills) {
      const fields: Record<string, unknown> = { ...own, ...one };
      body += columns.map((name) => cell(fields[name])).join(',') + end();
    }
  }
  return choose(2) ? body.replace(/\r?\n+$/, '') : body;
}

function ndjsonText(stations: readonly StationToSend[], { choices }: Manner): string {
  const choose = choosing(choices);
  const end = () => (choose(3) ? ' \r\n' : '\n') + (choose(4) ? '\t\n' : '');
  return (choose(2) ? '\ufeff\n' : '\n') + stations.map((one) => JSON.stringify(one) + end()).join('');
}

const jsonText = (stations: readonly StationToSend[], { choices }: Manner): string =>
  JSON.stringify({ stations }, null, choices[0]);

/** As it is received, then read in pieces that end anywhere. */
async function readAs(source: StationSource, body: string, { zipped, pieceBytes }: Manner) {
  await using spool = await SpoolFile.open(undefined);
  using sink = bodySink(zipped ? 'gzip' : 'identity', spool, LIMITS);
  for await (const piece of piecesOf(zipped ? gzipSync(body) : body, pieceBytes)) await sink.write(piece);
  await sink.end();
  const received = await spool.read(0, spool.sizeBytes);
  const options = { source, totals: NO_TOTALS };
  await using push = await checkRows(piecesOf(received, pieceBytes), options, RULES, LIMITS);
  const verdicts = new Verdicts(push, () => MAPPING);
  for (const index of orderRows(push)) verdicts.judge(index);
  const receipts: unknown[] = [];
  for await (const page of judgedReceipts(push, verdicts)) {
    for (const { pointer: _pointer, message, ...receipt } of page)
      receipts.push({
        ...receipt,
        message: asCellsSayIt(message)?.replace(/: \/(lines|stations)\/\S+ of this/, ': … of this'),
      });
  }
  return { digest: push.contentDigest, cents: push.cents, receipts };
}

/** A refusal quotes what was sent: in JSON a number differs from a text of digits, in a cell it does not. */
function asCellsSayIt(message: string | null | undefined): string | undefined {
  return message?.replace(/; it was (-?[\d.eE+-]+)\.$/, '; it was "$1".');
}

describe('a push in any format', () => {
  it('ING-2 ING-3 ING-7 gives the same digest and receipts, whatever its rows, its writing and its pieces', async function () {
    this.timeout(120_000);
    const pushes = fc.array(station, { maxLength: 5 });
    let rowCount = 0;
    let acceptedCount = 0;
    await assertProperty(
      'pushes in three formats, against each other',
      { runs: { short: 120, full: 3_000 }, limitMs: { short: 4_000, full: 120_000 } },
      fc.record({ stations: pushes, inJson: manner, inNdjson: manner, inCsv: manner }),
      async ({ stations, inJson, inNdjson, inCsv }) => {
        const json = await readAs(jsonStations, jsonText(stations, inJson), inJson);
        expect(await readAs(ndjsonStations, ndjsonText(stations, inNdjson), inNdjson)).to.deep.equal(json);
        expect(await readAs(csvStations, csvText(stations, inCsv), inCsv)).to.deep.equal(json);
        rowCount += json.receipts.length;
        acceptedCount += json.receipts.filter(
          (one) => (one as { receipt: string }).receipt === 'ACCEPTED',
        ).length;
      },
    );
    expect(acceptedCount, 'accepted rows that were compared').to.be.within(1, rowCount - 1);
  });
});
