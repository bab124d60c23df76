import { expect } from 'chai';
import { JsonNumber, RepeatedValue } from '../../src/domain/raw-value.ts';
import { ndjsonStations } from '../../src/ingest/ndjson-station-source.ts';
import { eventsOf, problemOf } from '../support/source-events.ts';

/** A tenth of what a line costs that is read as a text; twice and more what a look at its bytes does. */
const BLANK_LINE_US_MAX = 0.15;

const read = (body: string | Uint8Array, pieceBytes?: number) =>
  eventsOf(ndjsonStations, body, pieceBytes === undefined ? {} : { pieceBytes });

describe('an NDJSON push as a stream', () => {
  it('ING-7 gives a station a line, its bills before it, pointed at by the line’s number', async () => {
    const events = await read(
      '{"bills":[{"rent":1.50},{"rent":"2"}],"partnerStationNo":"A"}\n\n{"partnerStationNo":"B","bills":[]}',
    );
    expect(events).to.deep.equal([
      { kind: 'bill', fields: new Map([['rent', new JsonNumber('1.50')]]), stationStep: 1, step: 0 },
      { kind: 'bill', fields: new Map([['rent', '2']]), stationStep: 1, step: 1 },
      { kind: 'station', fields: new Map([['partnerStationNo', 'A']]), step: 1 },
      { kind: 'station', fields: new Map([['partnerStationNo', 'B']]), step: 3 },
    ]);
    const { pointers } = ndjsonStations;
    expect([pointers.station(3), pointers.bill(3, 7)]).to.deep.equal(['/lines/3', '/lines/3/bills/7']);
  });

  it('ING-7 blank lines are ignored, line feeds may have carriage returns, a byte order mark is no fault', async () => {
    const plain = await read('\n{"partnerStationNo":"A","bills":[]}\n');
    for (const body of [
      '\r\n{"partnerStationNo":"A","bills":[]}\r\n \t\r\n',
      '\ufeff\n{"partnerStationNo":"A","bills":[]}',
      '  \n  {"partnerStationNo" :"A",\t"bills":[ ]}  ',
    ])
      expect(await read(body), JSON.stringify(body)).to.deep.equal(plain);
    expect(await read('\n'), 'a push of no stations').to.deep.equal([]);
  });

  it('ING-7 reads the same wherever the pieces of the body break', async () => {
    const text =
      '\ufeff{"partnerStationNo":"电站😀\\u7535\\"","bills":[{"rent":12345.67,"isSupplement":true,"remark":null}]}\r\n{"bills":[{"reason":"x","reason":"y"}]}\n';
    const whole = await read(text);
    expect((whole[2] as { fields: unknown }).fields).to.deep.equal(
      new Map([['reason', new RepeatedValue()]]),
    );
    for (let pieceBytes = 1; pieceBytes <= Buffer.byteLength(text); pieceBytes++)
      expect(await read(text, pieceBytes), `pieces of ${pieceBytes} bytes`).to.deep.equal(whole);
  });

  const good = '{"bills":[]}\n';
  const malformed: [what: string, body: string | Uint8Array, line: number, says: RegExp][] = [
    ['nothing', '', 1, /the body is empty/],
    ['no JSON', `${good}hello\n${good}`, 2, /not well-formed JSON/],
    ['a word that JSON begins with', `${good}tru`, 2, /does not end on its line/],
    ['cut off', `${good}${good}{"bills":[{"rent":1`, 3, /does not end on its line/],
    ['cut off in a string', `${good}{"bills":[{"rent":"1`, 2, /does not end on its line/],
    ['an object over two lines', `\n${good}{"bills":\n[]}\n`, 3, /does not end on its line/],
    ['a string over two lines', `${good}{"partnerStationNo":"a longer\nname","bills":[]}`, 2, /line/],
    ['two objects on a line', `${good}{"bills":[]}{"bills":[]}\n`, 2, /one station a line/],
    ['a word that begins after the last object', `${good}{"bills":[]}nul`, 2, /not well-formed JSON/],
    ['a text that begins after the last object', `${good}{"bills":[]} "`, 2, /not well-formed JSON/],
    ['a text that begins after an object', `${good}{"bills":[]}"\n${good}`, 2, /not well-formed JSON/],
    ['a comma between the lines', `{"bills":[]},\n${good}`, 1, /not well-formed JSON/],
    ['an array of stations', `[{"bills":[]}]\n`, 1, /it is an array; send a station as an object/],
    ['a number', `${good}12\n`, 2, /single value/],
    ['null', `${good}null\n`, 2, /single value/],
    ['a JSON push', '{"stations":[]}\n', 1, /the station has no "bills"/],
    ['bills twice', `${good}{"bills":[],"bills":[]}\n`, 2, /names it twice/],
    ['a NUL byte', `${good}{"bills":[]\0}\n`, 2, /NUL byte/],
    ['UTF-16', Buffer.from(good, 'utf16le'), 1, /NUL byte/],
    ['no UTF-8', Buffer.concat([Buffer.from(`${good}{"x":"`), Buffer.from([0xff])]), 2, /not UTF-8/],
    ['UTF-8 that stops in a character', Buffer.from(`${good}"电`).subarray(0, -1), 2, /not UTF-8/],
    ['depth', `${good}{"x":${'['.repeat(100_000)}\n`, 2, /deeper than 32/],
  ];
  for (const [what, body, line, says] of malformed) {
    it(`ING-10 ${what}: 400 that names line ${line}`, async () => {
      const problem = await problemOf(read(body));
      expect([problem.status, problem.code]).to.deep.equal([400, 'MALFORMED_BODY']);
      expect(problem.message)
        .to.match(says)
        .and.match(new RegExp(`line(s/| )${line}\\b`));
      expect(problem.members.pointer).to.match(new RegExp(`^/lines/${line}(/|$)`));
    });
  }

  it('ING-7 a line without end is not read into memory, and the limit is named', async () => {
    const limit = { name: 'lineBytesMax', value: 1024 * 1024 };
    const endless = await problemOf(read(`${good}{"x":"${'x'.repeat(3_000_000)}`));
    expect([endless.status, endless.members.limit, endless.members.line]).to.deep.equal([413, limit, 2]);
    const long = await problemOf(read(`${good}{"x":"${'x'.repeat(1024 * 1024)}"}\n${good}`, 4_000_000));
    expect([long.status, long.members.limit, long.members.line]).to.deep.equal([413, limit, 2]);
  });

  it('ING-7 blank lines without end take little time, and lines are counted beyond them', async () => {
    const blankCount = 8_000_000;
    const body = Buffer.concat([Buffer.from(good), Buffer.alloc(blankCount, '\n'), Buffer.from(good)]);
    const before = process.cpuUsage();
    const events = await read(body);
    const { user, system } = process.cpuUsage(before);
    expect(events.map((event) => (event as { step: number }).step)).to.deep.equal([1, blankCount + 2]);
    expect((user + system) / blankCount, 'µs a line').to.be.below(BLANK_LINE_US_MAX);
  });
});
