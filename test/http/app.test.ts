import { expect } from 'chai';
import { pino } from 'pino';
import { openTestStore, type TestStore } from '../support/database.ts';
import { eventually, signal } from '../support/engine.ts';
import { type MadePartner, makePartner } from '../support/factory.ts';
import { type PartnerApi, startPartnerApi } from '../support/partner-api.ts';

describe('the HTTP side', () => {
  let database: TestStore;
  let api: PartnerApi;
  let partner: MadePartner;
  let redisAnswers = true;
  const lines: string[] = [];

  before(async () => {
    database = await openTestStore();
    const redis = { ping: async () => (redisAnswers ? 'PONG' : Promise.reject(new Error('gone'))) };
    const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
    api = await startPartnerApi(database.store, { redis, log });
    partner = await makePartner(database.store);
  });
  after(async () => {
    await api.close();
    await database.drop();
  });
  const asPartner = (path: string, init: RequestInit = {}) =>
    api.ask(path, { ...init, headers: { authorization: `Bearer ${partner.key}`, ...init.headers } });

  it('ING-10 a route that is none: 404, a method that is none: 405 with Allow', async () => {
    const none = await asPartner('/api/v1/pushs');
    expect([none.status, none.body.code]).to.deep.equal([404, 'NO_SUCH_ROUTE']);
    const wrong = await asPartner('/api/v1/pushes', { method: 'DELETE' });
    expect([wrong.status, wrong.body.code, wrong.headers.get('allow')]).to.deep.equal([
      405,
      'METHOD_NOT_ALLOWED',
      'GET, POST',
    ]);
    for (const path of ['/api/v1/pushes/1', '/api/v1/pushes/1/bills', '/api/v1/completeness']) {
      expect((await asPartner(path, { method: 'PUT' })).status).to.equal(405);
    }
  });

  it('ING-1 every partner route is behind the key', async () => {
    for (const path of [
      '/api/v1/pushes',
      '/api/v1/pushes/1',
      '/api/v1/pushes/1/bills',
      '/api/v1/completeness?month=2026-05',
      '/api/v1/x',
    ]) {
      expect((await api.ask(path)).status, path).to.equal(401);
    }
  });

  it('ING-1 a key that is revoked while the body is on its way lets nothing in', async () => {
    const leaked = await makePartner(database.store);
    const { store } = database;
    const looked = signal();
    const find = store.maybeOne;
    store.maybeOne = (async (...asked: Parameters<typeof find>) => {
      const row = await find.apply(store, asked);
      looked.give();
      return row;
    }) as typeof find;
    const body = async function* () {
      yield Buffer.from('{"stations":');
      await looked.given;
      await store.changeExactly(
        1,
        'revoking a key',
        'UPDATE partner_credential SET revoked_at = NOW(3) WHERE partner_org_id = ?',
        [leaked.partnerOrgId],
      );
      yield Buffer.from('[]}');
    };
    const answer = await api
      .ask('/api/v1/pushes', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${leaked.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'late',
        },
        body: ReadableStream.from(body()),
        duplex: 'half',
      } as RequestInit)
      .finally(() => {
        store.maybeOne = find;
      });
    expect([answer.status, answer.body.code]).to.deep.equal([401, 'UNAUTHENTICATED']);
    const kept = await store.many('SELECT push_id FROM partner_push WHERE partner_org_id = ?', [
      leaked.partnerOrgId,
    ]);
    expect(kept).to.deep.equal([]);
  });

  const queries = ['limit=0', 'limit=x', 'limit=1&limit=2', 'cursor=x', 'idempotencyKey=a&idempotencyKey=b'];
  for (const query of queries) {
    it(`ING-10 GET /pushes?${query}: 400 that names the parameter`, async () => {
      const answer = await asPartner(`/api/v1/pushes?${query}`);
      expect([answer.status, answer.body.code, answer.body.parameter]).to.deep.equal([
        400,
        'MALFORMED_QUERY',
        query.split('=')[0],
      ]);
    });
  }

  it('each answer has a trace id: the sender’s, if it is one', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const sent = await api.ask('/healthz', { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } });
    expect(sent.headers.get('x-trace-id')).to.equal(traceId);
    const own = await api.ask('/healthz', { headers: { traceparent: 'nonsense' } });
    expect(own.headers.get('x-trace-id')).to.match(/^[0-9a-f]{32}$/);
    const problem = await api.ask('/nowhere', {
      headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    });
    expect(problem.body.traceId).to.equal(traceId);
  });

  it('ING-8 a push is logged under the trace that it is accepted with, without what it holds or who may', async () => {
    const traceId = '5bf92f3577b34da6a3ce929d0e0e4737';
    const { body } = await asPartner('/api/v1/pushes?strict=true', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': 'traced',
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      },
      body: '{"stations":[]}',
    });
    expect(body.traceId).to.equal(traceId);
    await eventually('the request to be logged', () => lines.some((line) => line.includes(traceId)));
    const line = lines.find((text) => text.includes(traceId))!;
    expect(JSON.parse(line)).to.include({ method: 'POST', path: '/api/v1/pushes', status: 202, traceId });
    expect(lines.join()).not.to.contain(partner.key).and.not.to.contain('strict');
  });

  it('says nothing about what it is made of', async () => {
    const { headers } = await api.ask('/healthz');
    expect([headers.get('x-powered-by'), headers.get('x-content-type-options')]).to.deep.equal([
      null,
      'nosniff',
    ]);
  });

  it('is ready when both database and Redis answer, and names the one that does not', async () => {
    expect((await api.ask('/readyz')).body).to.deep.equal({
      status: 'ready',
      checks: { database: 'ok', redis: 'ok' },
    });
    redisAnswers = false;
    const answer = await api.ask('/readyz');
    expect([answer.status, answer.body.checks]).to.deep.equal([
      503,
      { database: 'ok', redis: 'unreachable' },
    ]);
    expect((await api.ask('/healthz')).status).to.equal(200);
    redisAnswers = true;
  });
});
