/** `rooftally verify` as a person runs it: a process of its own, on a database that is right, wrong, or not ours. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { verifyText } from '../../src/cli/verify.ts';
import type { RuleResult } from '../../src/domain/inspection.ts';
import { rules } from '../../src/invariants/all.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { makeBillLock } from '../support/factory.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface Ended {
  readonly code: number;
  readonly output: string;
}

function verify(databaseUrl: string, ...args: string[]): Promise<Ended> {
  const environment = { ...process.env, DATABASE_URL: databaseUrl, REDIS_URL: '' };
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, 'verify', ...args], { env: environment }, (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout });
    });
  });
}

describe('inspection: rooftally verify', () => {
  let testStore: TestStore;
  before(async () => {
    testStore = await openTestStore();
  });
  after(() => testStore.drop());

  it('INV-1 ends with 0 where nothing is found, needs no Redis, and writes nothing', async () => {
    const { code, output } = await verify(testStore.databaseUrl);
    expect(output.trim().split('\n').at(-1)).to.equal(`VERIFIED: ${rules.length} rules, nothing found`);
    for (const rule of rules) expect(output).to.match(new RegExp(`OK +${rule.code} `));
    expect(code).to.equal(0);
    expect(await testStore.store.many('SELECT id FROM inspection_run')).to.deep.equal([]);
  });

  it('INV-1 ends with 1 where a rule found something, and says what, why not, and what to do', async () => {
    const lock = { platformStationId: '5', month: '2026-01' };
    const lockId = await makeBillLock(testStore.store, lock, { payment_order_id: '404' });
    const { code, output } = await verify(testStore.databaseUrl);
    expect(code).to.equal(1);
    expect(output).to.match(/1 finding +LOCK_WITHOUT_SUBMIT/);
    expect(output).to.include(`BILL_LOCK ${lockId}`);
    expect(output).to.include(rules[0]!.whatToDo);
    expect(output.trim().split('\n').at(-1)).to.match(
      /^NOT VERIFIED: .* 1 found something and 0 could not look$/,
    );
    const json = await verify(testStore.databaseUrl, '--json');
    expect(json.code).to.equal(1);
    const told = JSON.parse(json.output) as { verdict: string; results: RuleResult[] };
    expect(told.verdict).to.equal('NOT_VERIFIED');
    expect(
      told.results.filter(({ outcome }) => outcome !== 'OK').map(({ code: rule }) => rule),
    ).to.deep.equal(['LOCK_WITHOUT_SUBMIT']);
    await testStore.store.change('DELETE FROM fi_resident_income_payment_bill_lock');
  });

  it('INV-1 ends with 1 where a rule could not look, though nothing was found', async () => {
    await testStore.store.change('RENAME TABLE station_guard TO station_guard_away');
    const { code, output } = await verify(testStore.databaseUrl);
    await testStore.store.change('RENAME TABLE station_guard_away TO station_guard');
    expect(code).to.equal(1);
    expect(output).to.match(/BROKEN +GUARD_WITHOUT_STATION/);
    expect(output.trim().split('\n').at(-1)).to.match(
      /^NOT VERIFIED: .* 0 found something and 1 could not look$/,
    );
  });

  it('INV-1 of many findings some are told, and how many more there are', () => {
    const findings = Array.from({ length: 9 }, (_, index) => ({
      targetType: 'BILL_LOCK',
      targetId: `${index}`,
      detail: {},
    }));
    const found: RuleResult = {
      code: rules[0]!.code,
      outcome: 'FINDINGS',
      findingCount: 1_234,
      findings,
      tookMs: 1,
      error: null,
    };
    const lines = verifyText(rules, [found]);
    expect(lines.filter((line) => line.startsWith('  BILL_LOCK'))).to.have.length(5);
    expect(lines).to.include('  and 1,229 more');
  });
});
