/** ING-7: what is too much, too slow, or breaks off; ING-10: and whatever else comes over the wire. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { openTestStore, type TestStore } from '../support/database.ts';
import { type MadePartner, makeMapping, makePartner } from '../support/factory.ts';
import { type PartnerApi, startPartnerApi, stationOf } from '../support/partner-api.ts';

describe('receiving a push', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let no: string;

  before(async () => {
    database = await openTestStore();
    api = await startPartnerApi(database.store, {
      limits: {
        rowsMax: 5,
        stationsMax: 3,
        bytesMax: 100_000,
        receiveTimeoutMs: 500,
        ratePerMinute: 1_000,
      },
    });
    partner = await makePartner(database.store);
    no = (await makeMapping(database.store, partner.partnerOrgId)).partnerStationNo;
  });
  after(async () => {
    await api.close();
    await database.drop();
  });

  const good = () => ({ stations: [stationOf(no, ['2026-05'])] });
  const expectAlive = async () => expect((await api.as(partner).push(good())).status).to.equal(202);

  /** A raw connection: what is written is the request, what comes back the whole answer. */
  async function exchange(
    write: (socket: Socket) => void,
    whole = /\r\n\r\n[\s\S]*[}\]]\s*(\r\n0\r\n\r\n)?$/,
  ): Promise<string> {
    const url = new URL(api.url);
    const socket = connect(Number(url.port), url.hostname);
    socket.setNoDelay(true);
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (whole.test(answer)) socket.destroy();
    });
    socket.on('error', () => {});
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await once(socket, 'connect');
    write(socket);
    await closed;
    return answer;
  }

  const head = (more: string) =>
    `POST /api/v1/pushes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${partner.key}\r\nContent-Type: application/json\r\n${more}`;

  it('ING-7 a body that says it is too large: 413 that names the limit, without waiting for it', async () => {
    const answer = await exchange((socket) => {
      socket.write(head('Idempotency-Key: big\r\nContent-Length: 100001\r\n\r\n{'));
    });
    expect(answer).to.match(/^HTTP\/1\.1 413 /);
    expect(answer)
      .to.contain('"code":"BODY_TOO_LARGE"')
      .and.contain('"limit":{"name":"bytesMax","value":100000}');
  });

  it('ING-7 a body that turns out too large while it comes: 413, and the sender gets to read it', async () => {
    const pieces = async function* () {
      for (let at = 0; at < 200; at++) yield Buffer.alloc(10_000, ' ');
    };
    const answer = await api.ask('/api/v1/pushes', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${partner.key}`,
        'content-type': 'application/json',
        'idempotency-key': 'big',
      },
      body: ReadableStream.from(pieces()),
      duplex: 'half',
    } as RequestInit);
    expect([answer.status, answer.body.code]).to.deep.equal([413, 'BODY_TOO_LARGE']);
    await expectAlive();
  });

  it('ING-7 a sender that sends on after its refusal is read to the end, and its next request is answered', async () => {
    const answer = await exchange((socket) => {
      const blanks = ' '.repeat(2_000_000);
      socket.write(head(`Idempotency-Key: big\r\nTransfer-Encoding: chunked\r\n\r\n`));
      for (let at = 0; at < 5; at++) socket.write(`${blanks.length.toString(16)}\r\n${blanks}\r\n`);
      socket.end('0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    }, /HTTP\/1\.1 413 [\s\S]*HTTP\/1\.1 200 [\s\S]*}$/);
    expect(answer).to.match(/^HTTP\/1\.1 413 [\s\S]*HTTP\/1\.1 200 OK/);
  });

  it('ING-7 a sender that is too slow: 408 that names the limit, and no database connection was held', async () => {
    const answer = await exchange((socket) => {
      socket.write(head('Idempotency-Key: slow\r\nContent-Length: 1000\r\n\r\n{"stations":['));
    });
    expect(answer).to.match(/^HTTP\/1\.1 408 /);
    expect(answer).to.contain('"limit":{"name":"receiveTimeoutMs","value":500}');
    await expectAlive();
  });

  it('ING-7 a sender that breaks off leaves nothing', async () => {
    await exchange((socket) => {
      socket.write(head('Idempotency-Key: broken\r\nContent-Length: 1000\r\n\r\n{"stations":['), () =>
        socket.destroy(),
      );
    });
    await expectAlive();
  });

  it('ING-7 one row or one station too many: 413 that names the limit', async () => {
    const months = ['2026-01', '2026-02', '2026-03', '2026-04', '2026-05', '2026-06'];
    const rows = await api.as(partner).push({ stations: [stationOf(no, months)] });
    expect([rows.status, rows.body.limit]).to.deep.equal([413, { name: 'rowsMax', value: 5 }]);
    expect((await api.as(partner).push({ stations: [stationOf(no, months.slice(1))] })).status).to.equal(202);
    const stations = ['a', 'b', 'c', 'd'].map((name) => stationOf(name, []));
    const many = await api.as(partner).push({ stations });
    expect([many.status, many.body.limit]).to.deep.equal([413, { name: 'stationsMax', value: 3 }]);
    const same = Array.from({ length: 8 }, () => stationOf('a', []));
    expect(
      (await api.as(partner).push({ stations: same })).status,
      'entries of one station are one station',
    ).to.equal(202);
    const endless = Array.from({ length: 9 }, () => ({ bills: [] }));
    expect((await api.as(partner).push({ stations: endless })).status, 'but not without end').to.equal(413);
  });

  const refused: [what: string, headers: Record<string, string>, status: number, code: string][] = [
    ['no media type', { 'content-type': '' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['another media type', { 'content-type': 'text/html' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a media type like __proto__', { 'content-type': '__proto__' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [
      'a media type that is none of these',
      { 'content-type': 'application/xml' },
      415,
      'UNSUPPORTED_MEDIA_TYPE',
    ],
    ['an encoding that is not read', { 'content-encoding': 'br' }, 415, 'UNSUPPORTED_ENCODING'],
    ['an encoding over another', { 'content-encoding': 'gzip, gzip' }, 415, 'UNSUPPORTED_ENCODING'],
    ['an encoding like __proto__', { 'content-encoding': '__proto__' }, 415, 'UNSUPPORTED_ENCODING'],
    ['a charset that is not read', { 'content-type': 'text/csv; charset=gbk' }, 415, 'UNSUPPORTED_CHARSET'],
  ];
  for (const type of ['application/json', 'application/x-ndjson', 'text/csv']) {
    const named = [
      'charset=gbk',
      'charset="gbk"',
      'charset = "gbk"',
      "charset='gbk'",
      'CharSet\t=\tGBK ',
      'charset="g\\bk"',
      'charset=utf-8;charset=gbk',
      'charset=gbk; charset=utf-8',
      'header="a;b"; charset=gbk',
      'header=present ; charset="utf-16"',
      ';; charset =gbk',
      'charset=',
      'charset',
    ];
    for (const parameters of named) {
      const headers = { 'content-type': `${type}; ${parameters}` };
      refused.push([`${type}; ${parameters}`, headers, 415, 'UNSUPPORTED_CHARSET']);
    }
    for (const parameters of ['charset="gbk', '=gbk', 'charset=g"bk"', 'header=a b; charset=gbk'])
      refused.push([
        `${type}; ${parameters}`,
        { 'content-type': `${type}; ${parameters}` },
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ]);
  }
  for (const [what, headers, status, code] of refused) {
    it(`ING-10 ${what}: ${status}`, async () => {
      const answer = await api.as(partner).push(good(), { headers });
      expect([answer.status, answer.body.code]).to.deep.equal([status, code]);
    });
  }

  it('ING-10 says which types and encodings are read, in words and in headers', async () => {
    const type = await api.as(partner).push(good(), { headers: { 'content-type': 'text/plain' } });
    expect(type.body.detail).to.contain('application/json, application/x-ndjson or text/csv');
    expect(type.headers.get('accept')).to.equal('application/json, application/x-ndjson, text/csv');
    const encoding = await api.as(partner).push(good(), { headers: { 'content-encoding': 'deflate' } });
    expect(encoding.body.detail).to.contain('Content-Encoding: gzip');
    expect(encoding.headers.get('accept-encoding')).to.equal('gzip, identity');
  });

  for (const type of [
    'Application/JSON; charset=UTF-8',
    'application/json ;CHARSET="utf-8"',
    'application/json; charset = "Utf8" ; q="a\\";charset=gbk"',
    'application/json;; profile=x;',
  ]) {
    it(`ING-10 ${type} is application/json in UTF-8`, async () => {
      const answer = await api.as(partner).push(good(), { headers: { 'content-type': type } });
      expect(answer.status).to.equal(202);
    });
  }

  it('ING-7 a body in many small pieces is read like one', async () => {
    const text = JSON.stringify(good());
    const answer = await exchange((socket) => {
      socket.write(head('Idempotency-Key: pieces\r\nTransfer-Encoding: chunked\r\n\r\n'));
      for (const byte of Buffer.from(text)) socket.write(`1\r\n${String.fromCharCode(byte)}\r\n`);
      socket.write('0\r\n\r\n');
    });
    expect(answer).to.match(/^HTTP\/1\.1 202 /);
  });

  const zipped = (body: Uint8Array, encoding = 'gzip') =>
    api.as(partner).push(body, { headers: { 'content-encoding': encoding } });
  const zip = (...texts: string[]) => Buffer.concat(texts.map((text) => gzipSync(text)));

  it('ING-7 a zipped body is read as what it was, also from several zips put together', async () => {
    const text = JSON.stringify(good());
    expect((await zipped(zip(text))).status).to.equal(202);
    expect((await zipped(zip(text), 'X-GZIP')).status).to.equal(202);
    expect((await zipped(zip(text.slice(0, 9), '', text.slice(9)))).status).to.equal(202);
    const answer = await exchange((socket) => {
      const more =
        'Content-Encoding: gzip\r\nIdempotency-Key: zip-in-pieces\r\nTransfer-Encoding: chunked\r\n\r\n';
      socket.write(head(more));
      for (const byte of zip(text)) socket.write(Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]));
      socket.write('0\r\n\r\n');
    });
    expect(answer).to.match(/^HTTP\/1\.1 202 /);
  });

  it('ING-7 what unzips into more than a push may have ends at the limit, which is named', async () => {
    const bomb = zip(' '.repeat(10_000_000));
    expect(bomb.length).to.be.lessThan(100_000);
    const answer = await zipped(bomb);
    expect([answer.status, answer.body.code, answer.body.limit]).to.deep.equal([
      413,
      'BODY_TOO_LARGE',
      { name: 'bytesMax', value: 100_000 },
    ]);
    expect((await zipped(zip(JSON.stringify(good()).padEnd(100_000)))).status, 'up to the limit').to.equal(
      202,
    );
    expect((await zipped(zip(JSON.stringify(good()).padEnd(100_001)))).status).to.equal(413);
  });

  it('ING-7 zips that unzip into nothing, without end, are bounded too', async () => {
    const nothing = zip(...Array.from({ length: 1_000 }, () => ''));
    const pieces = async function* () {
      for (let at = 0; at < 10; at++) yield nothing;
    };
    const answer = await api.ask('/api/v1/pushes', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${partner.key}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'idempotency-key': 'nothing',
      },
      body: ReadableStream.from(pieces()),
      duplex: 'half',
    } as RequestInit);
    expect([answer.status, answer.body.code]).to.deep.equal([413, 'BODY_TOO_LARGE']);
    await expectAlive();
  });

  const notWhole: [what: string, body: () => Uint8Array][] = [
    ['nothing', () => new Uint8Array()],
    ['no gzip', () => Buffer.from(JSON.stringify(good()))],
    ['cut off in its head', () => zip(JSON.stringify(good())).subarray(0, 5)],
    ['cut off', () => zip(JSON.stringify(good())).subarray(0, -20)],
    ['cut off in its check sum', () => zip(JSON.stringify(good())).subarray(0, -3)],
    ['a wrong check sum', () => spoilt(zip(JSON.stringify(good())), -6)],
    ['a wrong bit', () => spoilt(zip(JSON.stringify(good())), 15)],
    ['more after its end', () => Buffer.concat([zip(JSON.stringify(good())), Buffer.from('more')])],
    [
      'much more after its end, which comes in many pieces',
      () => Buffer.concat([zip(JSON.stringify(good())), Buffer.alloc(99_000, 'more')]),
    ],
  ];
  for (const [what, body] of notWhole) {
    it(`ING-10 zipped, but ${what}: 400, and nothing is stored`, async () => {
      const answer = await zipped(body());
      expect([answer.status, answer.body.code]).to.deep.equal([400, 'MALFORMED_ENCODING']);
      await expectAlive();
    });
  }

  function spoilt(bytes: Buffer, at: number): Buffer {
    const copy = Buffer.from(bytes);
    const index = at < 0 ? copy.length + at : at;
    copy[index] = copy[index]! ^ 0x10;
    return copy;
  }

  it('ING-10 over-rate: 429 with Retry-After, for that partner alone', async () => {
    const few = await startPartnerApi(database.store, { limits: { ratePerMinute: 2 } });
    const other = await makePartner(database.store);
    const statuses = [];
    for (let at = 0; at < 3; at++) statuses.push(await few.as(partner).push({ stations: [] }));
    expect(statuses.map((answer) => answer.status)).to.deep.equal([202, 202, 429]);
    expect(statuses[2]!.body).to.include({ status: 429, code: 'RATE_LIMITED' });
    expect(Number(statuses[2]!.headers.get('retry-after'))).to.be.within(1, 60);
    expect((await few.as(other).push({ stations: [] })).status).to.equal(202);
    expect((await few.as(partner).get('/api/v1/pushes')).status).to.equal(200);
    await few.close();
  });

  const garbage: [what: string, bytes: string][] = [
    ['no HTTP', 'hello\r\n\r\n'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    [
      'two lengths',
      'POST /api/v1/pushes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
    ['a wrong chunk', 'POST /api/v1/pushes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['headers without end', `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
    [
      'a path that cannot be decoded',
      'GET /api/v1/pushes/%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ],
    ['a path that climbs', 'GET /api/v1/../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a NUL in the path', 'GET /api/v1/pushes/%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n'],
    ['nothing', ''],
  ];
  for (const [what, bytes] of garbage) {
    it(`ING-10 the server survives ${what}`, async () => {
      const answer = await exchange((socket) => socket.end(bytes, 'latin1'));
      expect(answer).to.match(/^(HTTP\/1\.1 4\d\d |$)/);
      await expectAlive();
    });
  }

  it('ING-10 the server survives a reader that goes away in the middle of its answer', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        exchange((socket) => {
          const body = JSON.stringify(good());
          socket.write(
            `${head(`Idempotency-Key: gone-${at}\r\nContent-Length: ${body.length}\r\n\r\n`)}${body}`,
            () => socket.destroy(),
          );
        }),
      ),
    );
    await expectAlive();
  });
});
