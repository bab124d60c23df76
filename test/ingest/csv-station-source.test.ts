import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { BILL_FIELDS, STATION_FIELDS } from '../../src/domain/pushed-fields.ts';
import { JsonNumber } from '../../src/domain/raw-value.ts';
import { csvStations } from '../../src/ingest/csv-station-source.ts';
import { eventsOf, piecesOf, problemOf } from '../support/source-events.ts';

const read = (body: string | Uint8Array, options: { pieceBytes?: number; strict?: boolean } = {}) =>
  eventsOf(csvStations, body, options);

const HEADER = 'partnerStationNo,billYearMonth,rent';

/** A bill and its station, as a line of its own. */
function line(step: number, station: Record<string, unknown>, bill: Record<string, unknown>) {
  return [
    { kind: 'bill', fields: new Map(Object.entries(bill)), stationStep: step, step: 0 },
    { kind: 'station', fields: new Map(Object.entries(station)), step },
  ];
}
const row = (step: number, partnerStationNo: string, billYearMonth: string, rent: string) =>
  line(step, { partnerStationNo }, { billYearMonth, rent });

/** Of the heap, without garbage. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('a CSV push as a stream', () => {
  it('ING-7 gives each line as a bill and its station, pointed at by the line’s number', async () => {
    const events = await read(`${HEADER}\nB,2026-05,1\nA,2026-05,2.50\n\nB,2026-06,3\n`);
    expect(events).to.deep.equal([
      ...row(2, 'B', '2026-05', '1'),
      ...row(3, 'A', '2026-05', '2.50'),
      ...row(5, 'B', '2026-06', '3'),
    ]);
    const { pointers } = csvStations;
    expect([pointers.station(3), pointers.bill(3, 0)]).to.deep.equal(['/lines/3', '/lines/3']);
  });

  it('ING-7 DEC-1 every field of a station and of a bill is a column, in any order, typed as in JSON', async () => {
    const columns = [...Object.keys(BILL_FIELDS), ...Object.keys(STATION_FIELDS)].reverse();
    const values: Record<string, string> = {
      period: '3',
      isSupplement: 'true',
      rent: '007.5',
      dataVersion: '1e2',
    };
    const [bill, station] = await read(
      `${columns.join(',')}\n${columns.map((name) => values[name] ?? name).join(',')}`,
    );
    const expected = (names: string[]) =>
      Object.fromEntries(names.map((name) => [name, values[name] ?? name] as const));
    expect(bill).to.deep.include(
      line(
        2,
        {},
        {
          ...expected(Object.keys(BILL_FIELDS)),
          period: new JsonNumber('3'),
          dataVersion: new JsonNumber('1e2'),
          isSupplement: true,
        },
      )[0],
    );
    expect((station as { fields: ReadonlyMap<string, unknown> }).fields.get('partnerStationNo')).to.equal(
      'partnerStationNo',
    );
  });

  it('DEC-1 an empty cell is an absent value, quoted or not; blanks are none', async () => {
    const header = `${HEADER},remark,reason,period,isSupplement`;
    expect(await read(`${header}\nA,2026-05,1,,"",,\nA,2026-06,1, , x ,x,TRUE\n`)).to.deep.equal([
      ...row(2, 'A', '2026-05', '1'),
      ...line(
        3,
        { partnerStationNo: 'A' },
        {
          billYearMonth: '2026-06',
          rent: '1',
          remark: ' ',
          reason: ' x ',
          period: 'x',
          isSupplement: 'TRUE',
        },
      ),
    ]);
  });

  it('ING-7 CRLF or LF, a byte order mark, quoted cells with commas, quotes and line feeds', async () => {
    const body = `\ufeff"partnerStationNo",billYearMonth,rent,remark\r\nA,2026-05,"1","a, ""b""\r\n\nc"\nB,2026-05,2,d\r\n`;
    expect(await read(body)).to.deep.equal([
      ...line(2, { partnerStationNo: 'A' }, { billYearMonth: '2026-05', rent: '1', remark: 'a, "b"\r\n\nc' }),
      ...line(5, { partnerStationNo: 'B' }, { billYearMonth: '2026-05', rent: '2', remark: 'd' }),
    ]);
  });

  it('ING-5 a header line alone is a push of no rows', async () => {
    expect(await read(HEADER)).to.deep.equal([]);
    expect(await read(`\r\n${HEADER}\r\n\r\n`)).to.deep.equal([]);
  });

  it('ING-7 reads the same wherever the pieces of the body break', async () => {
    const text = `\ufeff${HEADER},remark\r\n电站😀,2026-05,1,"电""\r\n😀"\r\n\r\n"a,b",2026-06,"2",\r\n`;
    const whole = await read(text);
    expect(whole).to.have.length(4);
    for (let pieceBytes = 1; pieceBytes <= Buffer.byteLength(text); pieceBytes++)
      expect(await read(text, { pieceBytes }), `pieces of ${pieceBytes} bytes`).to.deep.equal(whole);
  });

  it('DEC-1 an unknown column is refused in strict mode, and else a field of its bill', async () => {
    const body = `${HEADER},colour,\nA,2026-05,1,red,\nA,2026-06,1,,\n`;
    const problem = await problemOf(read(body));
    expect([problem.status, problem.code, problem.members.pointer]).to.deep.equal([
      400,
      'MALFORMED_BODY',
      '/lines/1',
    ]);
    expect(problem.message)
      .to.contain('has "colour", "", which no bill has')
      .and.contain('Known are partnerStationNo,');
    expect(await read(body, { strict: false })).to.deep.equal([
      ...line(2, { partnerStationNo: 'A' }, { billYearMonth: '2026-05', rent: '1', colour: 'red' }),
      ...row(3, 'A', '2026-06', '1'),
    ]);
  });

  it('ING-10 a column named like what every object has is no column', async () => {
    const problem = await problemOf(read(`${HEADER},__proto__,constructor\nA,2026-05,1,x,y`));
    expect(problem.message).to.contain('has "__proto__", "constructor"');
  });

  const good = 'A,2026-05,1';
  const malformed: [what: string, body: string | Uint8Array, line: number, says: RegExp][] = [
    ['nothing', '', 1, /the body is empty/],
    ['blank lines', '\n\r\n', 1, /send a header line/],
    [
      'no header line',
      good,
      1,
      /lacks the column partnerStationNo; lacks the column billYearMonth; lacks the column rent/,
    ],
    ['a missing column', `partnerStationNo,rent\nA,1`, 1, /lacks the column billYearMonth\./],
    [
      'a column in other letters',
      'partnerStationNo,billYearMonth,Rent',
      1,
      /lacks the column rent; has "Rent"/,
    ],
    ['a column twice', `${HEADER},remark,remark\n${good},a,b`, 1, /names remark twice/],
    ['semicolons', `${HEADER.replaceAll(',', ';')}\nA;2026-05;1`, 1, /Separate cells by commas/],
    ['two faults, the earlier', `${HEADER},colour\n${good},x,y\n"x"y`, 1, /has "colour"/],
    ['the header line twice', `${HEADER}\n${good}\n${HEADER}\n${good}`, 3, /it is the header line once more/],
    ['too few cells', `${HEADER}\n${good}\n\nA,2026-05\n`, 4, /it has 2 cells, the header line has 3/],
    [
      'too many cells',
      `${HEADER}\n${good}\nA,2026-05,1,000.00\n`,
      3,
      /it has 4 cells, the header line has 3/,
    ],
    ['a quote in a bare cell', `${HEADER}\n${good}\nA"1",2026-05,1\n`, 3, /does not begin with one/],
    ['text after a quoted cell', `${HEADER}\n"A"1,2026-05,1\n`, 2, /neither a comma nor the end/],
    ['a quote that is never closed', `${HEADER}\n${good}\nA,2026-05,"1\n${good}\n${good}`, 3, /never closed/],
    [
      'a quote that the next one closes',
      `${HEADER}\n${good}\n\n"A,2026-05,1\n"A",2026-05,1\n`,
      4,
      /neither a comma/,
    ],
    ['a NUL byte', `${HEADER}\n${good}\nA\0,2026-05,1\n`, 3, /NUL byte/],
    ['UTF-16', Buffer.from(`${HEADER}\n${good}`, 'utf16le'), 1, /NUL byte/],
    [
      'another encoding',
      Buffer.concat([Buffer.from(`${HEADER}\n`), Buffer.from([0xb5, 0xe7])]),
      2,
      /not UTF-8/,
    ],
    ['UTF-8 that stops in a character', Buffer.from(`${HEADER}\n电`).subarray(0, -1), 2, /not UTF-8/],
    ['carriage returns alone', `${HEADER}\r${good}\r`, 1, /End each line with a line feed/],
  ];
  for (const [what, body, lineNo, says] of malformed) {
    it(`ING-10 ${what}: 400 that names line ${lineNo}`, async () => {
      for (const pieceBytes of [64 * 1024, 1]) {
        const problem = await problemOf(read(body, { pieceBytes }));
        expect([problem.status, problem.code]).to.deep.equal([400, 'MALFORMED_BODY']);
        expect(problem.message).to.match(says);
        expect(problem.members).to.deep.equal({ pointer: `/lines/${lineNo}`, line: lineNo });
      }
    });
  }

  it('ING-7 a line without end is not read into memory, nor is a cell of many lines; the limit is named', async () => {
    const limit = { name: 'lineBytesMax', value: 1024 * 1024 };
    for (const cell of [
      'x'.repeat(3_000_000),
      `"${'x\n'.repeat(1_500_000)}"`,
      `"${'x\n'.repeat(1_500_000)}`,
    ]) {
      const problem = await problemOf(read(`${HEADER},remark\n${good},\n${good},${cell}`));
      expect([problem.status, problem.code, problem.members]).to.deep.equal([
        413,
        'LINE_TOO_LARGE',
        { limit, line: 3 },
      ]);
    }
  });

  it('ING-7 blank lines without end are not kept in memory, and lines are counted beyond them', async () => {
    const blankCount = 4_000_000;
    const body = Buffer.concat([
      Buffer.from(`\n${HEADER}\n${good}\n`),
      Buffer.alloc(blankCount, '\n'),
      Buffer.from('"A",2026-06,1\n\n\r\nA,2026-07,1'),
    ]);
    const before = usedBytes();
    let keptBytes = 0;
    let readBytes = 0;
    async function* watched() {
      for await (const piece of piecesOf(body)) {
        readBytes += piece.length;
        if (readBytes === body.length) keptBytes = usedBytes() - before;
        yield piece;
      }
    }
    const steps: number[] = [];
    for await (const batch of csvStations.read(watched(), true))
      steps.push(...batch.flatMap((event) => (event.kind === 'station' ? [event.step] : [])));
    expect(steps).to.deep.equal([3, blankCount + 4, blankCount + 7]);
    expect(keptBytes).to.be.below(blankCount);
  });

  it('ING-5 ING-10 a file whose lines end otherwise is no push of no rows where unknown columns are ignored', async () => {
    for (const body of [`${HEADER},remark\r${good},x\r`, `${HEADER},"remark\n${good}"\n`]) {
      const problem = await problemOf(read(body, { strict: false }));
      expect([problem.status, problem.members.line]).to.deep.equal([400, 1]);
      expect(problem.message).to.match(/End each line with a line feed/);
    }
  });

  it('ING-7 what a record costs does not grow with how many come in one piece', async () => {
    const body = `${HEADER}\n${',,\n'.repeat(200_000)}`;
    const spent = async (pieceBytes: number) => {
      const before = process.cpuUsage();
      for await (const batch of csvStations.read(piecesOf(body, pieceBytes), true))
        expect(batch.length).to.be.at.least(0);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    await spent(4 * 1024);
    expect((await spent(256 * 1024)) / (await spent(4 * 1024))).to.be.below(3);
  });
});
