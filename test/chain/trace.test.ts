/** ING-8: one trace from the 202 to the last task, followed through HTTP alone. */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import {
  ADMIN_TOKEN,
  assertConserved,
  startTestSystem,
  type TestSystem,
  until,
  untilDone,
} from '../support/rooftally.ts';

interface RowTrace {
  readonly taskCode: string;
  readonly differenceTaskCode: string;
  readonly accountTaskCode: string | null;
}

interface ShownTask {
  readonly taskCode: string;
  readonly stage: string;
  readonly status: string;
  readonly parentTraceId: string | null;
  readonly taskData: object;
}

describe('the trace of a push', () => {
  let system: TestSystem;
  before(async () => {
    system = await startTestSystem();
  });
  after(() => system.stop());
  afterEach(() => assertConserved(system.store));

  const newTraceId = (): string => randomBytes(16).toString('hex');

  async function ask(path: string, token: string, init: RequestInit = {}) {
    const response = await fetch(system.url + path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
    });
    // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the answer has
    return { headers: response.headers, body: (await response.json()) as any };
  }

  const pushWith = (roofs: Roofs, headers: Record<string, string>) =>
    ask('/api/v1/pushes', roofs.partner.key, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': newTraceId(), ...headers },
      body: JSON.stringify({ stations: roofs.pushOf() }),
    });

  /** The tasks that took the push's rows where they are, from what the API tells. */
  async function tasksOf(roofs: Roofs, pushId: string): Promise<ShownTask[]> {
    const { items } = (await ask(`/api/v1/pushes/${pushId}/bills`, roofs.partner.key)).body;
    const ofRows = (items as RowTrace[]).flatMap((row) => [
      row.taskCode,
      row.differenceTaskCode,
      row.accountTaskCode,
    ]);
    // A row that has arrived waits for no snapshot task any more: they are found by partner.
    const filter = `stage=bill-snapshot&partnerOrgId=${roofs.partner.partnerOrgId}`;
    const snapshots = (await ask(`/admin/api/v1/tasks?${filter}`, ADMIN_TOKEN)).body.items as ShownTask[];
    const codes = new Set([...ofRows, ...snapshots.map(({ taskCode }) => taskCode)]);
    codes.delete(null);
    const tasks = [...codes].map((code) =>
      ask(`/admin/api/v1/tasks/${encodeURIComponent(code!)}`, ADMIN_TOKEN),
    );
    return (await Promise.all(tasks)).map(({ body }) => body);
  }

  async function expectTraced(roofs: Roofs, pushId: string, traceId: string, stages: object): Promise<void> {
    const tasks = await tasksOf(roofs, pushId);
    const count = (stage: string) => tasks.filter((task) => task.stage === stage).length;
    expect(Object.fromEntries(Object.keys(stages).map((stage) => [stage, count(stage)]))).to.deep.equal(
      stages,
    );
    for (const task of tasks) expect(task.parentTraceId, task.taskCode).to.equal(traceId);
  }

  it('ING-8 DIF-1 a sender’s trace goes from the 202 to the snapshot tasks', async () => {
    const roofs = await makeRoofs(system.store, { stations: 3, months: ['2026-01', '2026-02'] });
    const traceId = newTraceId();
    const reply = await pushWith(roofs, { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` });
    expect([reply.body.traceId, reply.headers.get('x-trace-id')]).to.deep.equal([traceId, traceId]);
    await untilDone(system.url, roofs.partner.key, reply.body.pushId);
    const shown = await ask(`/api/v1/pushes/${reply.body.pushId}`, roofs.partner.key);
    expect(shown.body.traceId).to.equal(traceId);
    await expectTraced(roofs, reply.body.pushId, traceId, {
      'bill-station': 3,
      'income-diff': 1,
      'account-shard': 1,
      'bill-snapshot': 3,
    });
    const difference = (await tasksOf(roofs, reply.body.pushId)).find(({ stage }) => stage === 'income-diff');
    expect(difference!.taskData).to.include({ parentTraceId: traceId });
    expect((difference!.taskData as { taskMainId: string }).taskMainId).not.to.equal(traceId);
  });

  it('ING-8 without one the push begins a trace of its own; a snapshot task follows whoever asked last', async () => {
    const roofs = await makeRoofs(system.store, { stations: 1, months: ['2026-01'] });
    const first = (await pushWith(roofs, {})).body;
    expect(first.traceId).to.match(/^[0-9a-f]{32}$/);
    await untilDone(system.url, roofs.partner.key, first.pushId);
    const all = { 'bill-station': 1, 'income-diff': 1, 'account-shard': 1, 'bill-snapshot': 1 };
    await expectTraced(roofs, first.pushId, first.traceId, all);
    const second = (await pushWith(roofs, {})).body;
    expect(second.traceId).not.to.equal(first.traceId);
    await untilDone(system.url, roofs.partner.key, second.pushId);
    await expectTraced(roofs, second.pushId, second.traceId, all);
  });

  it('ING-8 a repeat tells the trace of the first, whatever its own is', async () => {
    const roofs = await makeRoofs(system.store, { stations: 1, months: ['2026-01'] });
    const again = { 'idempotency-key': 'the-same' };
    const first = (await pushWith(roofs, again)).body;
    const traceparent = `00-${newTraceId()}-${'1'.repeat(16)}-01`;
    const repeat = (await pushWith(roofs, { ...again, traceparent })).body;
    expect([repeat.code, repeat.traceId]).to.deep.equal(['IDEMPOTENCY', first.traceId]);
    await untilDone(system.url, roofs.partner.key, first.pushId);
  });

  it('ING-8 DIF-6 it goes to the snapshot tasks of a partner that is not paid by us, too', async () => {
    const roofs = await makeRoofs(system.store, {
      stations: 2,
      months: ['2026-01'],
      partner: { payment_flow: 'DISABLED' },
    });
    const { pushId, traceId } = (await pushWith(roofs, {})).body;
    await untilDone(system.url, roofs.partner.key, pushId);
    await expectTraced(roofs, pushId, traceId, {
      'bill-station': 2,
      'income-diff': 1,
      'account-shard': 0,
      'bill-snapshot': 2,
    });
    await until('its snapshot tasks', 30_000, async () => {
      const open = (await tasksOf(roofs, pushId)).filter(({ status }) => status !== 'SUCCESS');
      return open.length === 0 ? true : null;
    });
  });
});
