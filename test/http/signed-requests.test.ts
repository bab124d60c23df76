/** ING-10: signed requests, over real HTTP; the signer is somebody else's code. */
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { ApiError } from '../../src/cli/api-client.ts';
import { sendPush } from '../../src/cli/send-push.ts';
import { partnerClient } from '../../src/cli/where-to.ts';
import { Failure } from '../../src/errors.ts';
import { forgetNonces } from '../../src/scheduler/forget-nonces.ts';
import { spendNonce } from '../../src/store/request-nonces.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { makeEngine } from '../support/engine.ts';
import { makeMapping, makePartner } from '../support/factory.ts';
import { type Answer, type PartnerApi, startPartnerApi, stationOf } from '../support/partner-api.ts';
import { COMPONENTS, type Deviation, digestOf, type SigningKey, signedHeaders } from '../support/signer.ts';

const DAY_MS = 86_400_000;
const WINDOW_MS = 300_000;

interface Signatory extends SigningKey {
  readonly partnerOrgId: string;
  readonly key: string;
  readonly body: string;
}

interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Record<string, string>;
  readonly deviation?: Deviation;
  readonly by?: SigningKey;
  /** What is done to the request after it was signed. */
  readonly tamper?: (request: {
    path: string;
    method: string;
    body?: string | Uint8Array<ArrayBuffer>;
    headers: Record<string, string>;
  }) => void;
}

describe('signed requests', () => {
  let database: TestStore;
  let plane: ControlPlane;
  let api: PartnerApi;
  let partner: Signatory;
  let other: Signatory;
  let optional: Signatory;
  const secretKeys = [{ name: 'a', key: createSecretKey(randomBytes(32)) }];

  before(async () => {
    database = await openTestStore();
    plane = await startControlPlane({ engine: makeEngine(database.store).engine, secretKeys });
    api = await startPartnerApi(database.store, { signing: { secretKeys, windowMs: WINDOW_MS } });
    partner = await signatory('REQUIRED');
    other = await signatory('REQUIRED');
    optional = await signatory('OPTIONAL');
  });
  after(async () => {
    await api.close();
    await plane.close();
    await database.drop();
  });

  async function signatory(signing: string): Promise<Signatory> {
    const { partnerOrgId } = await makePartner(database.store);
    const mapped = await makeMapping(database.store, partnerOrgId);
    const { body } = await plane.ask('POST', `/partners/${partnerOrgId}/credentials`, { signing });
    return {
      partnerOrgId,
      keyId: body.id,
      key: body.key,
      secret: body.signingSecret,
      body: JSON.stringify({ stations: [stationOf(mapped.partnerStationNo, ['2026-05'])] }),
    };
  }

  /** A push, signed as it should be, unless the test says otherwise. */
  async function send(who: Signatory, sending: Sending = {}): Promise<Answer> {
    const method = sending.method ?? 'POST';
    const path = sending.path ?? '/api/v1/pushes?strict=true';
    const body = method === 'GET' ? undefined : (sending.body ?? who.body);
    const headers = await signedHeaders(
      sending.by ?? who,
      {
        method,
        url: api.url + path,
        headers: {
          authorization: `Bearer ${who.key}`,
          'content-type': 'application/json',
          'idempotency-key': randomUUID(),
          ...sending.headers,
        },
        ...(body === undefined ? {} : { body }),
      },
      sending.deviation,
    );
    const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
    sending.tamper?.(request);
    return api.ask(request.path, request);
  }

  const count = async (table: string, who: Signatory = partner): Promise<number> => {
    const { n } = await database.store.one<{ n: string }>(
      `SELECT COUNT(*) n FROM ${table} WHERE partner_org_id = ?`,
      [who.partnerOrgId],
    );
    return Number(n);
  };

  /** 401 with this code, and nothing of the request was kept. */
  async function expectRefused(answer: Answer, code: string, before: number): Promise<void> {
    expect([answer.status, answer.body?.code], answer.text).to.deep.equal([401, code]);
    expect(answer.headers.get('content-type')).to.contain('application/problem+json');
    expect(await count('push_identity')).to.equal(before);
    expect(await count('partner_push')).to.equal(before);
  }

  it('ING-10 a push whose signature holds is accepted, with a query and without', async () => {
    for (const path of ['/api/v1/pushes', '/api/v1/pushes?strict=true&dryRun=false']) {
      const answer = await send(partner, { path });
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([202, 'ACCEPTED']);
    }
  });

  it('ING-10 everything that changes what a push means may be covered as well', async () => {
    const components = [...COMPONENTS, 'content-type', 'idempotency-key'];
    expect((await send(partner, { deviation: { components } })).status).to.equal(202);
    const before = await count('partner_push');
    const tamper: Sending['tamper'] = ({ headers }) => {
      headers['idempotency-key'] = 'another';
    };
    await expectRefused(
      await send(partner, { deviation: { components }, tamper }),
      'SIGNATURE_MISMATCH',
      before,
    );
  });

  const GETS = ['/api/v1/pushes', '/api/v1/pushes?limit=1', '/api/v1/completeness?month=2026-05'];
  for (const path of GETS) {
    it(`ING-10 GET ${path}: read when signed, refused when not`, async () => {
      const headers = { authorization: `Bearer ${partner.key}` };
      expect((await send(partner, { method: 'GET', path, headers })).status).to.equal(200);
      const unsigned = await api.ask(path, { headers });
      expect([unsigned.status, unsigned.body.code]).to.deep.equal([401, 'SIGNATURE_REQUIRED']);
    });
  }

  it('ING-10 no route of the partner API is open without the signature', async () => {
    const paths = ['/api/v1/pushes/1', '/api/v1/pushes/1/bills', '/api/v1/nowhere'];
    for (const path of paths) {
      const answer = await api.ask(path, { headers: { authorization: `Bearer ${partner.key}` } });
      expect([answer.status, answer.body.code], path).to.deep.equal([401, 'SIGNATURE_REQUIRED']);
    }
  });

  it('ING-10 where it is optional: unsigned requests pass, but a signature that is sent must hold', async () => {
    const headers = { authorization: `Bearer ${optional.key}` };
    expect((await api.ask('/api/v1/pushes', { headers })).status).to.equal(200);
    expect((await send(optional)).status).to.equal(202);
    const answer = await send(optional, { by: { ...optional, secret: other.secret } });
    expect([answer.status, answer.body.code]).to.deep.equal([401, 'SIGNATURE_MISMATCH']);
  });

  it('ING-10 a key without a secret cannot vouch for a signature', async () => {
    const { key, partnerOrgId } = await makePartner(database.store);
    const { id: keyId } = await database.store.one<{ id: string }>(
      'SELECT id FROM partner_credential WHERE partner_org_id = ?',
      [partnerOrgId],
    );
    const answer = await send({ ...partner, key, keyId, partnerOrgId });
    expect([answer.status, answer.body.code]).to.deep.equal([401, 'SIGNATURE_NOT_SET_UP']);
  });

  it('ING-10 unsigned where it is required: it is shown what to sign', async () => {
    const before = await count('partner_push');
    const answer = await send(partner, {
      tamper: ({ headers }) => {
        for (const name of Object.keys(headers)) if (/^signature/i.test(name)) delete headers[name];
      },
    });
    await expectRefused(answer, 'SIGNATURE_REQUIRED', before);
    expect(answer.headers.get('accept-signature')).to.equal(
      `sig1=("@method" "@path" "@query" "content-digest");created;nonce;keyid="${partner.keyId}";alg="hmac-sha256"`,
    );
  });

  const set = (name: string, value: string | null): NonNullable<Sending['tamper']> => {
    return ({ headers }) => {
      for (const given of Object.keys(headers)) if (given.toLowerCase() === name) delete headers[given];
      if (value !== null) headers[name] = value;
    };
  };
  const without = (name: string): Deviation => ({
    params: ['created', 'nonce', 'keyid', 'alg'].filter((given) => given !== name),
  });
  const uncovered = (name: string): Deviation => ({
    components: COMPONENTS.filter((given) => given !== name),
  });

  const refused: [what: string, sending: Sending, code: string][] = [
    ['no Signature', { tamper: set('signature', null) }, 'SIGNATURE_MALFORMED'],
    ['no Signature-Input', { tamper: set('signature-input', null) }, 'SIGNATURE_MALFORMED'],
    ['a Signature that is no dictionary', { tamper: set('signature', '????') }, 'SIGNATURE_MALFORMED'],
    [
      'a Signature-Input that is no dictionary',
      { tamper: set('signature-input', 'sig=(') },
      'SIGNATURE_MALFORMED',
    ],
    [
      'a Signature-Input without a list',
      { tamper: set('signature-input', 'partner=1') },
      'SIGNATURE_MALFORMED',
    ],
    ['a signature that is no bytes', { tamper: set('signature', 'partner="abc"') }, 'SIGNATURE_MALFORMED'],
    ['a signature under another label', { tamper: set('signature', 'sig9=:AAAA:') }, 'SIGNATURE_MALFORMED'],
    ['no created', { deviation: without('created') }, 'SIGNATURE_MALFORMED'],
    ['no nonce', { deviation: without('nonce') }, 'SIGNATURE_MALFORMED'],
    ['a nonce that is too short', { deviation: { nonce: '1234567' } }, 'SIGNATURE_MALFORMED'],
    ['a nonce that is too long', { deviation: { nonce: 'n'.repeat(65) } }, 'SIGNATURE_MALFORMED'],
    ['another algorithm', { deviation: { alg: 'hmac-sha512' } }, 'SIGNATURE_MALFORMED'],
    [
      'a component that is not known',
      { deviation: { components: [...COMPONENTS, '@authority'] } },
      'SIGNATURE_MALFORMED',
    ],
    ['no keyid', { deviation: without('keyid') }, 'SIGNATURE_KEY_UNKNOWN'],
    ['the method not covered', { deviation: uncovered('@method') }, 'SIGNATURE_INCOMPLETE'],
    ['the path not covered', { deviation: uncovered('@path') }, 'SIGNATURE_INCOMPLETE'],
    ['the query not covered', { deviation: uncovered('@query') }, 'SIGNATURE_INCOMPLETE'],
    ['the digest not covered', { deviation: uncovered('content-digest') }, 'SIGNATURE_INCOMPLETE'],
    ['the digest covered, but not sent', { tamper: set('content-digest', null) }, 'SIGNATURE_INCOMPLETE'],
    [
      'a field covered, but not sent',
      {
        deviation: { components: [...COMPONENTS, 'content-encoding'] },
        headers: { 'content-encoding': 'identity' },
        tamper: set('content-encoding', null),
      },
      'SIGNATURE_INCOMPLETE',
    ],
    ['a digest that is none', { deviation: { digest: 'sha-256=:AAAA:' } }, 'SIGNATURE_INCOMPLETE'],
    ['a digest without SHA-256', { deviation: { digest: 'sha-512=:AAAA:' } }, 'SIGNATURE_INCOMPLETE'],
    [
      'another method',
      { method: 'PUT', tamper: (request) => Object.assign(request, { method: 'POST' }) },
      'SIGNATURE_MISMATCH',
    ],
    [
      'another path',
      { path: '/api/v1/pushes/', tamper: (request) => Object.assign(request, { path: '/api/v1/pushes' }) },
      'SIGNATURE_MISMATCH',
    ],
    [
      'another query',
      { tamper: (request) => Object.assign(request, { path: '/api/v1/pushes?strict=false' }) },
      'SIGNATURE_MISMATCH',
    ],
    [
      'no query any more',
      { tamper: (request) => Object.assign(request, { path: '/api/v1/pushes' }) },
      'SIGNATURE_MISMATCH',
    ],
    ['another digest', { tamper: set('content-digest', digestOf('{}')) }, 'SIGNATURE_MISMATCH'],
    ['a signature that is cut off', { tamper: set('signature', 'partner=:AAAA:') }, 'SIGNATURE_MISMATCH'],
    [
      'a time that is too old',
      { deviation: { created: new Date(Date.now() - WINDOW_MS - 5_000) } },
      'SIGNATURE_OUT_OF_TIME',
    ],
    [
      'a time that is to come',
      // This table is made when the file is loaded, long before its tests run.
      { deviation: { created: new Date(Date.now() + WINDOW_MS + DAY_MS) } },
      'SIGNATURE_OUT_OF_TIME',
    ],
    [
      'an end that is over',
      {
        deviation: {
          params: ['created', 'expires', 'nonce', 'keyid'],
          expires: new Date(Date.now() - 1_000),
        },
      },
      'SIGNATURE_OUT_OF_TIME',
    ],
    [
      'another body',
      { tamper: (request) => Object.assign(request, { body: '{"stations":[]}' }) },
      'CONTENT_DIGEST_MISMATCH',
    ],
  ];
  for (const [what, sending, code] of refused) {
    it(`ING-10 ING-2 ${what}: 401 ${code}, nothing is kept`, async () => {
      const before = await count('partner_push');
      await expectRefused(await send(partner, sending), code, before);
    });
  }

  it("ING-10 another key's secret, and another key's id: refused", async () => {
    const before = await count('partner_push');
    const { secret, keyId } = other;
    await expectRefused(await send(partner, { by: { ...partner, secret } }), 'SIGNATURE_MISMATCH', before);
    await expectRefused(await send(partner, { by: { ...partner, keyId } }), 'SIGNATURE_KEY_UNKNOWN', before);
    await expectRefused(await send(partner, { by: other }), 'SIGNATURE_KEY_UNKNOWN', before);
  });

  /** What follows a part's name in the parameters of the base. */
  const parameter = (name: string, value: string): NonNullable<Sending['tamper']> => {
    return ({ headers }) => {
      const given = Object.keys(headers).find((header) => header.toLowerCase() === 'signature-input')!;
      const before = headers[given]!;
      headers[given] = before.replace(new RegExp(`;${name}=("[^"]*"|[0-9]+)`), `;${name}=${value}`);
      expect(headers[given]).not.to.equal(before);
    };
  };
  it('ING-10 time and nonce are signed: changed afterwards they do not fit', async () => {
    const before = await count('partner_push');
    for (const tamper of [
      parameter('created', String(Math.floor(Date.now() / 1000) - 7)),
      parameter('nonce', '"another-nonce"'),
    ]) {
      await expectRefused(await send(partner, { tamper }), 'SIGNATURE_MISMATCH', before);
    }
  });

  it('ING-10 a refused signature shows what was signed, line by line, and no secret', async () => {
    const nonce = randomUUID();
    const created = new Date();
    const answer = await send(partner, {
      by: { ...partner, secret: other.secret },
      deviation: { nonce, created },
    });
    const parameters = `created=${Math.floor(created.getTime() / 1000)};nonce="${nonce}";keyid="${partner.keyId}";alg="hmac-sha256"`;
    expect(answer.body.signatureBase.split('\n')).to.deep.equal([
      '"@method": POST',
      '"@path": /api/v1/pushes',
      '"@query": ?strict=true',
      `"content-digest": ${digestOf(partner.body)}`,
      `"@signature-params": ("@method" "@path" "@query" "content-digest");${parameters}`,
    ]);
    expect(answer.text).not.to.contain(partner.secret).and.not.to.contain(partner.key);
  });

  it('ING-10 a time out of the window is told with the time here', async () => {
    const created = new Date(Date.now() - 2 * WINDOW_MS);
    const { body } = await send(partner, { deviation: { created } });
    expect(body.windowMs).to.equal(WINDOW_MS);
    expect(Math.abs(Date.parse(body.serverTime) - Date.now())).to.be.lessThan(60_000);
    expect(body.signatureBase).to.contain(`created=${Math.floor(created.getTime() / 1000)}`);
  });

  it('ING-10 a nonce counts once: sent again it is refused, with another key it is free', async () => {
    const nonce = randomUUID();
    expect((await send(partner, { deviation: { nonce } })).status).to.equal(202);
    const before = await count('partner_push');
    await expectRefused(await send(partner, { deviation: { nonce } }), 'NONCE_USED', before);
    expect((await send(other, { deviation: { nonce } })).status).to.equal(202);
    expect((await send(partner, { deviation: { nonce: nonce.toUpperCase() } })).status).to.equal(202);
  });

  it('ING-10 the very same request at the same time comes in once', async () => {
    const headers = await signedHeaders(partner, {
      method: 'POST',
      url: `${api.url}/api/v1/pushes`,
      headers: {
        authorization: `Bearer ${partner.key}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: partner.body,
    });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        api.ask('/api/v1/pushes', { method: 'POST', headers, body: partner.body }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, ...Array(7).fill(401)]);
  });

  it('ING-10 ING-2 a nonce is spent even where its request failed later; the identity is free for a new signature', async () => {
    const nonce = randomUUID();
    const identity = { 'idempotency-key': randomUUID() };
    const broken = { body: '{"stations":', headers: identity, deviation: { nonce } };
    expect((await send(partner, broken)).status).to.equal(400);
    expect((await send(partner, { headers: identity, deviation: { nonce } })).body.code).to.equal(
      'NONCE_USED',
    );
    expect((await send(partner, { headers: identity })).body.code).to.equal('ACCEPTED');
  });

  it('ING-7 ING-10 the digest of a zipped body is that of what was sent', async () => {
    const zipped = gzipSync(partner.body);
    const headers = { 'content-encoding': 'gzip' };
    expect((await send(partner, { body: zipped, headers })).status).to.equal(202);
    const unzipped = { body: zipped, headers, deviation: { digest: digestOf(partner.body) } };
    expect((await send(partner, unzipped)).body.code).to.equal('CONTENT_DIGEST_MISMATCH');
  });

  it('ING-10 the digest is compared at the last byte: not before it came, and then nothing was begun', async () => {
    const before = await count('partner_push');
    const changed = `${partner.body.slice(0, -1)} `;
    const headers = await signedHeaders(partner, {
      method: 'POST',
      url: `${api.url}/api/v1/pushes`,
      headers: {
        authorization: `Bearer ${partner.key}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
        'content-length': String(changed.length),
      },
      body: partner.body,
    });
    const sending = httpRequest(`${api.url}/api/v1/pushes`, { method: 'POST', headers });
    let answered = false;
    const answer = new Promise<string>((resolve, reject) => {
      sending.on('error', reject);
      sending.on('response', async (response) => {
        answered = true;
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk);
        resolve(`${response.statusCode} ${Buffer.concat(chunks)}`);
      });
    });
    await new Promise((resolve) => sending.write(changed.slice(0, -1), resolve));
    // Another request goes all its way meanwhile.
    expect((await send(other)).status).to.equal(202);
    expect(answered).to.equal(false);
    sending.end(changed.slice(-1));
    const text = await answer;
    expect(text).to.match(/^401 /).and.contain('CONTENT_DIGEST_MISMATCH');
    const problem = JSON.parse(text.slice(4));
    expect(problem.contentDigest).to.deep.equal({
      sent: digestOf(partner.body),
      received: digestOf(changed),
    });
    expect(problem.signatureBase).to.contain(digestOf(partner.body));
    expect(await count('push_identity')).to.equal(before);
  });

  it('ING-10 a digest that is sent without a signature is compared too', async () => {
    const client = api.as(optional);
    const good = await client.push(optional.body, { headers: { 'content-digest': digestOf(optional.body) } });
    expect(good.status).to.equal(202);
    for (const [digest, code] of [
      [digestOf('{}'), 'CONTENT_DIGEST_MISMATCH'],
      ['sha-256=abc', 'CONTENT_DIGEST_MALFORMED'],
      ['sha-256=:AAAA:', 'CONTENT_DIGEST_MALFORMED'],
    ] as const) {
      const answer = await client.push(optional.body, { headers: { 'content-digest': digest } });
      expect([answer.status, answer.body.code]).to.deep.equal([400, code]);
    }
    const otherKind = await client.push(optional.body, { headers: { 'content-digest': 'sha-512=:AAAA:' } });
    expect(otherKind.status).to.equal(202);
  });

  it('ING-10 rooftally push --sign signs what it sends and what it asks for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rooftally-'));
    const credential = join(folder, 'credential.json');
    const file = join(folder, 'push.json');
    writeFileSync(file, partner.body);
    writeFileSync(
      credential,
      JSON.stringify({ id: partner.keyId, key: partner.key, signingSecret: partner.secret }),
    );
    try {
      const signed = partnerClient({ url: api.url, sign: credential });
      expect((await sendPush(signed, file, randomUUID())).code).to.equal('ACCEPTED');
      expect(await signed.get<{ items: [] }>('/api/v1/pushes?limit=1')).to.have.property('items');
      const unsigned = partnerClient({ url: api.url, key: partner.key });
      const refusal = await sendPush(unsigned, file, randomUUID()).catch((error: ApiError) => error);
      expect(refusal).to.be.instanceOf(ApiError).and.include({ code: 'SIGNATURE_REQUIRED', status: 401 });
      writeFileSync(credential, JSON.stringify({ id: partner.keyId }));
      expect(() => partnerClient({ url: api.url, sign: credential })).to.throw(Failure, /"signingSecret"/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('ING-7 ING-10 of a zipped body the digest is that of the bytes as they are sent', async () => {
    const zipped = gzipSync(partner.body);
    const send = async (digest: string) => {
      const headers = await signedHeaders(
        partner,
        {
          method: 'POST',
          url: `${api.url}/api/v1/pushes`,
          headers: {
            authorization: `Bearer ${partner.key}`,
            'content-type': 'application/json',
            'content-encoding': 'gzip',
            'idempotency-key': randomUUID(),
          },
          body: zipped,
        },
        { digest, components: [...COMPONENTS, 'content-encoding'] },
      );
      return api.ask('/api/v1/pushes', { method: 'POST', headers, body: zipped });
    };
    expect((await send(digestOf(zipped))).status).to.equal(202);
    expect((await send(digestOf(partner.body))).body.code).to.equal('CONTENT_DIGEST_MISMATCH');
  });

  it('ING-1 ING-10 two keys sign at once; a revoked one no longer, and its secret is gone', async () => {
    const first = await signatory('REQUIRED');
    const made = await plane.ask('GET', `/partners/${first.partnerOrgId}/credentials`);
    const unsigned = made.body.items.find((key: { signing: string }) => key.signing === 'NONE');
    const path = `/partners/${first.partnerOrgId}/credentials`;
    expect((await plane.ask('POST', path, { signing: 'REQUIRED' })).body.code).to.equal('TOO_MANY_KEYS');
    await plane.ask('POST', `${path}/${unsigned.id}/revoke`);
    const { body } = await plane.ask('POST', path, { signing: 'OPTIONAL' });
    const second = { ...first, key: body.key, keyId: body.id, secret: body.signingSecret };
    expect([(await send(first)).status, (await send(second)).status]).to.deep.equal([202, 202]);
    await plane.ask('POST', `${path}/${first.keyId}/revoke`);
    const revoked = await send(first);
    expect([revoked.status, revoked.body.code]).to.deep.equal([401, 'UNAUTHENTICATED']);
    expect((await send(second)).status).to.equal(202);
    const kept = await database.store.one('SELECT signing_secret FROM partner_credential WHERE id = ?', [
      first.keyId,
    ]);
    expect(kept).to.deep.equal({ signing_secret: null });
  });

  it('ING-10 a signature that runs out of time before its nonce is spent is too late, and spends nothing', async () => {
    const nonce = { credentialId: '2', nonce: 'late-nonce' };
    expect(await spendNonce(database.store, { ...nonce, untilMs: Date.now() - 1_000 })).to.equal('late');
    expect(await spendNonce(database.store, { ...nonce, untilMs: Date.now() + 60_000 })).to.equal('spent');
    expect(await spendNonce(database.store, { ...nonce, untilMs: Date.now() + 60_000 })).to.equal('used');
  });

  it('ING-10 spent nonces are forgotten when nothing signed with them could pass, in small steps', async () => {
    const { store } = database;
    const insert = (nonce: string, agoS: number) =>
      store.change(
        'INSERT INTO request_nonce (credential_id, nonce, expires_at) VALUES (1, ?, NOW(3) - INTERVAL ? SECOND)',
        [nonce, agoS],
      );
    for (let at = 0; at < 3; at++)
      await store.change(
        `INSERT INTO request_nonce (credential_id, nonce, expires_at)
         SELECT 1, CONCAT('old-', ?, '-', s.seq), NOW(3) - INTERVAL 2 HOUR
           FROM (WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 400) SELECT seq FROM n) s`,
        [at],
      );
    await insert('just over', 60);
    await insert('to come', -60);
    await forgetNonces().runOnce(makeEngine(store).engine);
    const left = await store.many<{ nonce: string }>(
      'SELECT nonce FROM request_nonce WHERE credential_id = 1 ORDER BY nonce',
    );
    expect(left.map(({ nonce }) => nonce)).to.deep.equal(['just over', 'to come']);
  });
});
