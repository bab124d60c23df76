import { expect } from 'chai';
import { JsonNumber, NestedValue, RepeatedValue } from '../../src/domain/raw-value.ts';
import { jsonStations } from '../../src/ingest/json-station-source.ts';
import { problemOf, eventsOf as readEvents } from '../support/source-events.ts';

const eventsOf = (body: string | Uint8Array, pieceBytes?: number) =>
  readEvents(jsonStations, body, pieceBytes === undefined ? {} : { pieceBytes });

describe('a JSON push as a stream', () => {
  it('ING-7 gives bills in request order, their station after them, totals where they stand', async () => {
    const events = await eventsOf(
      '{"totalCount":2,"stations":[{"bills":[{"rent":1.50},{"rent":"2"}],"partnerStationNo":"A"},{"partnerStationNo":"B","bills":[]}],"totalAmount":"3.5"}',
    );
    expect(events).to.deep.equal([
      { kind: 'top', name: 'totalCount', value: new JsonNumber('2') },
      {
        kind: 'bill',
        fields: new Map([['rent', new JsonNumber('1.50')]]),
        stationStep: 0,
        step: 0,
      },
      { kind: 'bill', fields: new Map([['rent', '2']]), stationStep: 0, step: 1 },
      {
        kind: 'station',
        fields: new Map([['partnerStationNo', 'A']]),
        step: 0,
      },
      {
        kind: 'station',
        fields: new Map([['partnerStationNo', 'B']]),
        step: 1,
      },
      { kind: 'top', name: 'totalAmount', value: '3.5' },
    ]);
  });

  it('DEC-17 keeps numbers as they were written', async () => {
    const [bill] = await eventsOf(
      '{"stations":[{"bills":[{"a":1e2,"b":-0,"c":100.0,"d":0.1000000000000000055}]}]}',
    );
    const { fields } = bill as unknown as { fields: ReadonlyMap<string, JsonNumber> };
    const texts = [...fields.values()].map((value) => value.text);
    expect(texts).to.deep.equal(['1e2', '-0', '100.0', '0.1000000000000000055']);
  });

  it('ING-3 what is nested, repeated or no object is told as such and never kept', async () => {
    const [first, second, third, station] = await eventsOf(
      '{"stations":[{"bills":[{"rent":{"a":[1,{"rent":9}]},"remark":[[]],"reason":"x","reason":"y"},7,[{"rent":1}]],"owner":{"bills":[1]}}]}',
    );
    expect((first as { fields: unknown }).fields).to.deep.equal(
      new Map<string, unknown>([
        ['rent', new NestedValue('object')],
        ['remark', new NestedValue('array')],
        ['reason', new RepeatedValue()],
      ]),
    );
    expect([second, third].map((event) => (event as { fields: unknown }).fields)).to.deep.equal([null, null]);
    expect((station as { fields: unknown }).fields).to.deep.equal(
      new Map([['owner', new NestedValue('object')]]),
    );
  });

  it('ING-7 reads the same wherever the pieces of the body break', async () => {
    const text =
      '{"stations":[{"partnerStationNo":"电站😀\\u7535\\"","bills":[{"rent":12345.67,"isSupplement":true,"remark":null}]}]}';
    const whole = await eventsOf(text);
    for (let pieceBytes = 1; pieceBytes <= Buffer.byteLength(text); pieceBytes++)
      expect(await eventsOf(text, pieceBytes), `pieces of ${pieceBytes} bytes`).to.deep.equal(whole);
  });

  it('ING-10 a byte order mark is no fault', async () => {
    expect(await eventsOf('\ufeff{"stations":[]}')).to.deep.equal([]);
  });

  const malformed: [what: string, body: string | Uint8Array, says: RegExp][] = [
    ['nothing', '', /ends too early/],
    ['blanks', '  \n', /ends too early/],
    ['cut off', '{"stations":[{"bills":[{"rent":1', /ends too early/],
    ['cut off in a string', '{"stations":[{"bills":[{"rent":"1', /ends too early/],
    ['more after the end', '{"stations":[]}{}', /unexpected/],
    ['a comma too many', '{"stations":[],}', /well-formed/],
    ['a single quote', "{'stations':[]}", /well-formed/],
    ['a comment', '{/* */"stations":[]}', /well-formed/],
    ['NaN', '{"stations":[{"bills":[{"rent":NaN}]}]}', /well-formed/],
    ['a leading zero', '{"stations":[{"bills":[{"rent":007}]}]}', /well-formed/],
    ['a control character in a string', '{"stations":[{"bills":[{"rent":"1\n"}]}]}', /well-formed/],
    ['a wrong escape', '{"stations":[{"bills":[{"rent":"\\x31 34567"}]}]}', /well-formed/],
    ['a wrong bracket', '{"stations":[}', /well-formed/],
    ['another encoding', Buffer.from('{"stations":[]}', 'utf16le'), /well-formed/],
    ['no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /not UTF-8/],
    ['UTF-8 that stops in a character', Buffer.from([0x7b, 0x22, 0xe7, 0x94]), /not UTF-8|too early/],
    ['an array', '[]', /it is an array/],
    ['a number', '12', /single value/],
    ['null', 'null', /single value/],
    ['no stations', '{}', /no "stations"/],
    ['stations that are null', '{"stations":null}', /\/stations: it is a single value/],
    ['stations that are an object', '{"stations":{}}', /\/stations: it is an object/],
    ['stations twice', '{"stations":[],"stations":[]}', /\/stations: the body names it twice/],
    ['a station that is a text', '{"stations":["A"]}', /\/stations\/0: it is a single value/],
    ['a station that is an array', '{"stations":[{"bills":[]},[]]}', /\/stations\/1: it is an array/],
    [
      'a station without bills',
      '{"stations":[{"partnerStationNo":"A"}]}',
      /\/stations\/0: the station has no "bills"/,
    ],
    ['bills that are null', '{"stations":[{"bills":null}]}', /\/stations\/0\/bills: it is a single value/],
    ['bills that are an object', '{"stations":[{"bills":{}}]}', /\/stations\/0\/bills: it is an object/],
    [
      'bills twice',
      '{"stations":[{"bills":[],"bills":[]}]}',
      /\/stations\/0\/bills: the station names it twice/,
    ],
    ['depth without end', `{"x":${'['.repeat(100_000)}`, /deeper than 32/],
    [
      'an object of thousands of fields',
      `{"stations":[{"bills":[{${Array.from({ length: 5000 }, (_, at) => `"f${at}":1`)}}]}]}`,
      /over 200 fields/,
    ],
  ];
  for (const [what, body, says] of malformed) {
    it(`ING-10 ${what}: 400 that says what is wrong`, async () => {
      const problem = await problemOf(eventsOf(body));
      expect([problem.status, problem.code]).to.deep.equal([400, 'MALFORMED_BODY']);
      expect(problem.message).to.match(says);
    });
  }

  it('ING-7 a value without end is not read into memory', async () => {
    const problem = await problemOf(
      eventsOf(`{"stations":[{"bills":[{"remark":"${'x'.repeat(3_000_000)}"}]}]}`),
    );
    expect([problem.status, problem.members.limit]).to.deep.equal([
      413,
      { name: 'tokenBytesMax', value: 1024 * 1024 },
    ]);
  });
});
