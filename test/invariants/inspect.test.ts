/** A run of inspection: what is kept of it, and that a rule which breaks stops nothing (INV-1). */
import { expect } from 'chai';
import { Registry } from 'prom-client';
import { rules } from '../../src/invariants/all.ts';
import { inspect } from '../../src/invariants/inspect.ts';
import type { InvariantRule } from '../../src/invariants/rule.ts';
import { runRules } from '../../src/invariants/run-rules.ts';
import { registerInspection } from '../../src/metrics/inspection.ts';
import { inspectRegularly } from '../../src/scheduler/inspect.ts';
import { findInspection, listLatestResults, removeOldInspections } from '../../src/store/inspections.ts';
import { FINDINGS_SHOWN_MAX } from '../../src/store/invariants/found.ts';
import type { Store } from '../../src/store/transaction.ts';
import { type Answer, type ControlPlane, listAudit, startControlPlane } from '../support/control-plane.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { makeEngine, type TestEngine } from '../support/engine.ts';
import { insertRow, makeBillLock } from '../support/factory.ts';

/** A rule with a code of its own, which finds so many of them. */
function ruleOf(code: string, find: InvariantRule['find']): InvariantRule {
  return { code, targetType: 'THING', title: 't', looksFor: 'l', why: 'w', whatToDo: 'd', find };
}
const finds = (code: string, ...ids: string[]) =>
  ruleOf(code, async () => ({
    count: ids.length,
    rows: ids.map((targetId) => ({ targetId, total: ids.length, colour: 'red' })),
  }));
const breaks = ruleOf('BREAKS', (reader) =>
  reader.many('SELECT nothing FROM nowhere').then(() => ({ count: 0, rows: [] })),
);

describe('inspection: a run', () => {
  let testStore: TestStore;
  let store: Store;
  let engine: TestEngine;

  before(async () => {
    testStore = await openTestStore();
    store = testStore.store;
    engine = makeEngine(store);
  });
  after(() => testStore.drop());

  it('INV-1 a rule that breaks is reported as broken and stops none of those behind it', async () => {
    const results = await runRules(store, [breaks, finds('FINDS', 'a'), finds('CLEAN')]);
    expect(results.map(({ code, outcome }) => [code, outcome])).to.deep.equal([
      ['BREAKS', 'BROKEN'],
      ['FINDS', 'FINDINGS'],
      ['CLEAN', 'OK'],
    ]);
    expect(results[0]!.error).to.match(/nowhere/);
  });

  it('INV-1 a run keeps its trigger, its end, a result for each rule, and each finding with its detail', async () => {
    const { runId } = await inspect(store, [finds('FINDS', 'a', 'b'), breaks], { trigger: 'HAND' });
    const run = await findInspection(store, runId);
    expect(run).to.include({ trigger: 'HAND' });
    expect(run!.endedTime).to.be.a('string');
    const results = await listLatestResults(store);
    expect(results.map(({ code, outcome, findingCount }) => [code, outcome, findingCount])).to.deep.equal([
      ['BREAKS', 'BROKEN', 0],
      ['FINDS', 'FINDINGS', 2],
    ]);
    const kept = await store.many(
      'SELECT rule_code code, target_type type, target_id id, detail FROM inspection_finding WHERE run_id = ? ORDER BY id',
      [runId],
    );
    expect(kept).to.deep.equal([
      { code: 'FINDS', type: 'THING', id: 'a', detail: { colour: 'red' } },
      { code: 'FINDS', type: 'THING', id: 'b', detail: { colour: 'red' } },
    ]);
  });

  it('INV-1 of many findings a bounded number is shown, and all are counted', async () => {
    const partner = { org_code: 'MANY', name: 'Many', payment_flow: 'ENABLED', partner_org_id: '77' };
    await insertRow(store, 'partner', partner);
    const many = FINDINGS_SHOWN_MAX + 7;
    await store.change(
      `INSERT INTO station_guard (kind, partner_org_id, platform_station_id, partner_station_no)
       SELECT 2, 0, n.n + 900000, '' FROM (WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${many}) SELECT n FROM n) n`,
    );
    const guards = rules.find((rule) => rule.code === 'GUARD_WITHOUT_STATION')!;
    const [result] = await runRules(store, [guards]);
    expect(result).to.include({ outcome: 'FINDINGS', findingCount: many });
    expect(result!.findings).to.have.length(FINDINGS_SHOWN_MAX);
    await store.change('DELETE FROM station_guard');
  });

  it('INV-1 an inspection that is stopped in the middle has no end and no results', async () => {
    const stopped = new AbortController();
    const stops = ruleOf('STOPS', async () => {
      stopped.abort(new Error('shutting down'));
      return { count: 0, rows: [] };
    });
    const before = await listLatestResults(store);
    await inspect(store, [stops, finds('FINDS', 'a')], { trigger: 'SCHEDULE', signal: stopped.signal }).then(
      () => expect.fail('it went on'),
      (error: Error) => expect(error.message).to.equal('shutting down'),
    );
    expect(await listLatestResults(store)).to.deep.equal(before);
  });

  it('INV-1 old inspections are removed with what they found; the latest are kept', async () => {
    for (const id of ['x', 'y', 'z']) await inspect(store, [finds('FINDS', id)], { trigger: 'SCHEDULE' });
    await removeOldInspections(store, 2);
    const kept = await store.many<{ id: string }>('SELECT target_id id FROM inspection_finding ORDER BY id');
    expect(kept.map(({ id }) => id)).to.deep.equal(['y', 'z']);
    const runs = await store.many('SELECT id FROM inspection_run');
    expect(runs).to.have.length(2);
  });

  describe('by the clock', () => {
    it('INV-1 the leader does not wait for an inspection, begins no second one beside it, and tells of one that failed', async () => {
      let end = () => {};
      let begun = 0;
      const job = inspectRegularly(1_000, () => {
        begun += 1;
        return new Promise<void>((resolve, reject) => {
          end = begun === 1 ? resolve : () => reject(new Error('no database'));
        });
      });
      await job.runOnce(engine.engine);
      await job.runOnce(engine.engine);
      expect(begun).to.equal(1);
      end();
      await job.settled();
      await job.runOnce(engine.engine);
      end();
      await job.settled();
      expect(begun).to.equal(2);
      expect(engine.observed.of('trouble')).to.have.length(1);
    });
  });

  describe('metrics', () => {
    it('INV-1 each rule of the latest inspection has its findings, or is marked as broken', async () => {
      const registry = new Registry();
      const figures = [
        { rule: 'FINDS', findings: 3, broken: false },
        { rule: 'BREAKS', findings: 0, broken: true },
      ];
      registerInspection(registry, { readFigures: async () => figures, onTrouble: () => {} });
      const lines = (await registry.metrics()).split('\n').filter((line) => /^rooftally/.test(line));
      expect(lines.sort()).to.deep.equal([
        'rooftally_inspection_broken{rule="BREAKS"} 1',
        'rooftally_inspection_broken{rule="FINDS"} 0',
        'rooftally_inspection_findings{rule="FINDS"} 3',
      ]);
    });
  });

  describe('over the control plane', () => {
    let plane: ControlPlane;
    let lockId: string;
    before(async () => {
      const inspectByHand = () => inspect(store, rules, { trigger: 'HAND' });
      plane = await startControlPlane({ engine: engine.engine, inspection: { rules, inspectByHand } });
      lockId = await makeBillLock(
        store,
        { platformStationId: '5', month: '2026-01' },
        { payment_order_id: '404' },
      );
      await makeBillLock(store, { platformStationId: '6', month: '2026-01' }, { payment_order_id: '404' });
    });
    after(() => plane.close());

    const findingsOf = ({ body }: Answer): { targetId: string; rule: Record<string, string> }[] => body.items;

    it('INV-1 an inspection by hand answers with each rule’s result and a verdict, and is in the audit', async () => {
      const answer = await plane.ask('POST', '/inspections');
      expect(answer.status).to.equal(201);
      expect(answer.body).to.include({ trigger: 'HAND', verdict: 'NOT_VERIFIED' });
      expect(answer.body.results).to.have.length(rules.length);
      const found = answer.body.results.filter((result: { findingCount: number }) => result.findingCount > 0);
      expect(
        found.map((result: { code: string; findingCount: number }) => [result.code, result.findingCount]),
      ).to.deep.equal([['LOCK_WITHOUT_SUBMIT', 2]]);
      expect((await plane.ask('GET', `/inspections/${answer.body.runId}`)).body).to.deep.equal(answer.body);
      expect((await listAudit(store)).at(-1)).to.deep.include({
        action: 'INSPECT',
        target: answer.body.runId,
        after: { clean: false, findings: 2 },
      });
    });

    it('INV-1 findings are those of the latest run, page by page, each with what a person should do', async () => {
      const first = await plane.ask('GET', '/findings?limit=1');
      expect(first.body.items).to.have.length(1);
      const second = await plane.ask('GET', `/findings?limit=1&cursor=${first.body.nextCursor}`);
      expect(second.body.nextCursor).to.equal(null);
      const all = [...findingsOf(first), ...findingsOf(second)];
      expect(all.map(({ targetId }) => targetId)).to.include(lockId);
      expect(all[0]!.rule.whatToDo).to.equal(rules[0]!.whatToDo);
    });

    it('INV-1 findings can be asked for by rule and by run; what is not there is refused', async () => {
      expect((await plane.ask('GET', '/findings?rule=OVERPAID')).body.items).to.deep.equal([]);
      expect((await plane.ask('GET', '/findings?rule=LOCK_WITHOUT_SUBMIT')).body.items).to.have.length(2);
      expect((await plane.ask('GET', '/findings?rule=NO_RULE')).status).to.equal(400);
      expect((await plane.ask('GET', '/findings?runId=999999')).status).to.equal(404);
      expect((await plane.ask('GET', '/inspections/999999')).status).to.equal(404);
      expect((await plane.ask('GET', '/inspections/none')).status).to.equal(404);
    });
  });
});
