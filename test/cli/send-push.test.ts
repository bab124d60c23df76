import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { ApiClient, ApiError } from '../../src/cli/api-client.ts';
import { contentHeaders, sendPush } from '../../src/cli/send-push.ts';
import { Failure } from '../../src/errors.ts';

describe('sending a file', () => {
  const kinds = [
    { file: 'a.json', headers: { 'content-type': 'application/json' } },
    { file: 'a.NDJSON', headers: { 'content-type': 'application/x-ndjson' } },
    { file: 'a.jsonl', headers: { 'content-type': 'application/x-ndjson' } },
    { file: 'a.csv', headers: { 'content-type': 'text/csv' } },
    { file: 'x.json/a.csv.gz', headers: { 'content-type': 'text/csv', 'content-encoding': 'gzip' } },
  ];
  for (const { file, headers } of kinds) {
    it(`ING-7 says of ${file} what it is`, () => expect(contentHeaders(file)).to.deep.equal(headers));
  }

  it('refuses a file that is no push, before it is sent', () => {
    expect(() => contentHeaders('a.xlsx')).to.throw(Failure, /\.json, \.ndjson or \.csv/);
  });
});

describe('a push from the command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rooftally-'));
  const file = join(folder, 'push.json');
  let answer: { status: number; body: object };
  let seen: { request: IncomingMessage; body: string };
  const server = createServer(async (request, response) => {
    seen = { request, body: await text(request) };
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer.body));
  });
  let client: ApiClient;

  before(async () => {
    writeFileSync(file, '{"stations":[]}');
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = new ApiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, 'the-key');
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  it('ING-1 ING-2 carries the key, the identity and the file as it is', async () => {
    answer = { status: 202, body: { pushId: '7', code: 'ACCEPTED' } };
    expect((await sendPush(client, file, 'id-1')).pushId).to.equal('7');
    expect(seen.request.url).to.equal('/api/v1/pushes');
    expect(seen.request.headers).to.include({
      authorization: 'Bearer the-key',
      'idempotency-key': 'id-1',
      'content-type': 'application/json',
    });
    expect(seen.body).to.equal('{"stations":[]}');
  });

  it('ING-5 shows the receipts also where every row was refused', async () => {
    answer = { status: 422, body: { code: 'REJECTED', receipts: [{ index: 0 }] } };
    expect((await sendPush(client, file, 'id-2')).receipts).to.have.length(1);
  });

  it('ING-10 tells a refusal as a whole in the words of its problem document', async () => {
    answer = {
      status: 422,
      body: { title: 'Refused', detail: 'totalCount says 2, there are 3', code: 'TOTALS_MISMATCH' },
    };
    const refusal = await sendPush(client, file, 'id-3').catch((error: ApiError) => error);
    expect(refusal).to.be.instanceOf(ApiError);
    expect((refusal as ApiError).code).to.equal('TOTALS_MISMATCH');
    expect((refusal as ApiError).message).to.contain('totalCount says 2, there are 3');
  });

  it('says so where nobody answers', async () => {
    const nobody = new ApiClient('http://127.0.0.1:1', 'k');
    const failure = await nobody.get('/').catch((error: Failure) => error);
    expect((failure as Failure).code).to.equal('UNREACHABLE');
  });
});
