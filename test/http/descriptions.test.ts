/** ING-10: what is described is what there is, for partners and for operators: the registered routes are walked. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import type { Router } from 'express';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { createControlRouter } from '../../src/control/router.ts';
import { createApp } from '../../src/http/app.ts';
import { listen } from '../../src/http/server.ts';
import { ADMIN_TOKEN } from '../support/control-plane.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { makeEngine } from '../support/engine.ts';
import { type MadePartner, makePartner } from '../support/factory.ts';
import { LIMITS } from '../support/partner-api.ts';

interface Listed {
  readonly path: string;
  readonly methods: readonly string[] | undefined;
  readonly router: Walked | undefined;
}
type Walked = { listRoutes(): Listed[] };

/** `GET /api/v1/pushes/{pushId}` for each route under the router; HEAD and `all` come with every route. */
function walk(router: Walked, under = ''): string[] {
  return router.listRoutes().flatMap(({ path, methods, router: mounted }) => {
    const whole = `${under}${path === '/' ? '' : path}`;
    if (mounted !== undefined) return walk(mounted, whole);
    const named = (whole || '/').replaceAll(/:(\w+)/g, '{$1}');
    return (methods ?? [])
      .filter((method) => !['*', 'HEAD'].includes(method))
      .map((method) => `${method} ${named}`);
  });
}

/** Pages for people, and the descriptions themselves. */
const NOT_API = /^\w+ (\/docs.*|\/openapi\.json|\/admin|\/admin\/(login|logout|board|openapi\.json).*)$/;

interface Described {
  readonly openapi: string;
  readonly paths: Record<
    string,
    Record<
      string,
      { operationId: string; parameters?: { in: string; name: string }[]; requestBody?: unknown }
    >
  >;
}

describe('the descriptions', () => {
  let database: TestStore;
  let url: string;
  let close: () => Promise<void>;
  let routes: string[];
  let redis: Redis;
  let partner: MadePartner;
  const documents: Described[] = [];

  const get = (path: string) => fetch(url + path, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });

  before(async () => {
    database = await openTestStore();
    partner = await makePartner(database.store);
    redis = new Redis(process.env.REDIS_URL!);
    const admin = createControlRouter({
      engine: makeEngine(database.store).engine,
      adminToken: ADMIN_TOKEN,
      boardQueues: [],
      leases: { redis, prefix: 'described' },
      inspection: { rules: [], inspectByHand: async () => ({ runId: '1', results: [] }) },
    });
    const app = createApp({
      store: database.store,
      kick: { kick: () => {} },
      limits: LIMITS,
      signing: { secretKeys: [], windowMs: 1 },
      redis: { ping: async () => 'PONG' },
      log: pino({ level: 'silent' }),
      mounts: [{ path: '/admin', handler: admin }],
    });
    routes = walk((app as unknown as { router: Router & Walked }).router).filter(
      (route) => !NOT_API.test(route),
    );
    const server = await listen(app, { host: '127.0.0.1', port: 0, requestTimeoutMs: 60_000 });
    url = server.url;
    close = () => server.close(0);
    for (const path of ['/openapi.json', '/admin/openapi.json'])
      documents.push((await (await get(path)).json()) as Described);
  });
  after(async () => {
    redis.disconnect();
    await close();
    await database.drop();
  });

  it('ING-10 describe every route that is registered, and none that is not', () => {
    const described = documents.flatMap(({ paths }) =>
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    expect(described.length).to.be.greaterThan(45);
    expect(new Set(described).size, 'each once').to.equal(described.length);
    // What limits pushes is registered under the same name as what takes them.
    expect(described.sort()).to.deep.equal([...new Set(routes)].sort());
  });

  it('ING-10 are valid OpenAPI 3.1, with names of their own for operations', async () => {
    for (const document of documents) {
      const { valid, errors } = await new Validator().validate({ ...document });
      expect([valid, document.openapi], JSON.stringify(errors)?.slice(0, 500)).to.deep.equal([true, '3.1.0']);
      const ids = Object.values(document.paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      );
      expect(new Set(ids).size).to.equal(ids.length);
    }
  });

  const pathOf = (path: string) => path.replaceAll(/\{\w+\}/g, '1');
  const askAs = (path: string, method: string, query: string, body = '{}') =>
    fetch(`${url}${pathOf(path)}?${query}`, {
      method: method.toUpperCase(),
      headers: {
        authorization: `Bearer ${path.startsWith('/admin') ? ADMIN_TOKEN : partner.key}`,
        'content-type': 'application/json',
        'idempotency-key': 'described',
      },
      ...(method === 'get' ? {} : { body }),
    });

  it('ING-10 name the query parameters that each route knows; any other is refused by its name, and nothing is done', async () => {
    let compared = 0;
    for (const { paths } of documents) {
      for (const [path, methods] of Object.entries(paths).filter(([at]) => at.includes('/api/'))) {
        for (const [method, { parameters = [] }] of Object.entries(methods)) {
          const answer = await askAs(path, method, 'noSuchParameter=1');
          const problem = (await answer.json()) as { code: string; parameter: string; known: string[] };
          const { code, parameter } = problem;
          expect([answer.status, code, parameter], `${method} ${path}`).to.deep.equal([
            400,
            'MALFORMED_QUERY',
            'noSuchParameter',
          ]);
          const described = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
          expect(described.sort(), `${method} ${path}`).to.deep.equal([...problem.known].sort());
          compared += 1;
        }
      }
    }
    expect(compared).to.be.greaterThan(45);
    for (const table of ['partner_push', 'operation_audit', 'fi_async_task'])
      expect(await database.store.many(`SELECT 1 FROM ${table}`), table).to.deep.equal([]);
  });

  it('ING-10 every command refuses half a character wherever it stands in its body, and does nothing', async () => {
    let asked = 0;
    for (const [path, methods] of Object.entries(documents[1]!.paths)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (requestBody === undefined) continue;
        const at = path.replace('{name}', 'bill-station');
        for (const [body, pointer] of [
          ['{"reason":"a \\ud83d tolerance"}', '/reason'],
          ['{"note":["b",{"c":"\\udc00"}]}', '/note/1/c'],
          ['{"\\ud800":1}', ''],
          ['"\\ud800"', null],
        ] as const) {
          const answer = await askAs(at, method, '', body);
          const { code, faults } = (await answer.json()) as { code: string; faults?: { pointer: string }[] };
          expect([answer.status, code.startsWith('MALFORMED')], `${method} ${path} ${body}`).to.deep.equal([
            400,
            true,
          ]);
          if (pointer !== null) expect(faults?.[0]?.pointer, `${method} ${path}`).to.equal(pointer);
        }
        asked += 1;
      }
    }
    expect(asked).to.be.greaterThan(20);
    for (const table of ['operation_audit', 'fi_async_task'])
      expect(await database.store.many(`SELECT 1 FROM ${table}`), table).to.deep.equal([]);
  });

  it('ING-10 the bodies of commands are the schemas that validate', async () => {
    const { paths } = documents[1]! as unknown as {
      paths: Record<
        string,
        Record<
          string,
          {
            requestBody: { content: Record<string, { schema: { properties: object; required?: string[] } }> };
          }
        >
      >;
    };
    const bodyOf = (path: string) =>
      paths[`/admin/api/v1${path}`]!.post!.requestBody.content['application/json']!.schema;
    expect(Object.keys(bodyOf('/lock-releases').properties)).to.include.members([
      'paymentOrderVersionId',
      'lockReleaseReason',
      'selection',
      'note',
    ]);
    expect(bodyOf('/tasks/{code}/cancel').required).to.deep.equal(['reason']);
    expect(bodyOf('/partners/{partnerOrgId}/credentials').properties)
      .to.have.nested.property('signing.enum')
      .that.deep.equals(['NONE', 'OPTIONAL', 'REQUIRED']);
  });

  it('what operators can do is described to operators alone', async () => {
    expect((await fetch(`${url}/admin/openapi.json`)).status).to.equal(401);
    expect((await fetch(`${url}/openapi.json`)).status).to.equal(200);
  });

  it('ING-10 /docs draws them from this address alone, under the policy that holds everywhere', async () => {
    const page = await fetch(`${url}/docs`);
    const html = await page.text();
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-security-policy')).to.equal(
      (await fetch(`${url}/healthz`)).headers.get('content-security-policy'),
    );
    expect(page.headers.get('content-security-policy')).to.contain("script-src 'self';");
    const sources = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source!);
    expect(sources).to.have.length.above(4);
    for (const source of sources) {
      expect(source, 'no other address').to.match(/^\/(?!\/)/);
      const answer = await fetch(url + source);
      expect(answer.status, source).to.equal(200);
      expect((await answer.arrayBuffer()).byteLength, source).to.be.greaterThan(100);
    }
    expect(html, 'no script in the page itself, which the policy would refuse').not.to.match(
      /<script>|<style>|\son\w+=/,
    );
    const start = await (await fetch(`${url}/docs/start.js`)).text();
    expect(start).to.contain("'/openapi.json'").and.contain('validatorUrl: null').and.not.contain('//');
    expect((await fetch(`${url}/docs/assets/package.json`)).status).to.equal(404);
  });
});
