import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { bodyIn, FORMS, type StationToSend } from '../support/push-formats.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import { ADMIN_TOKEN, startTestSystem, type TestSystem } from '../support/rooftally.ts';

const PROGRAM = join(import.meta.dirname, '../../src/cli/main.ts');

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command as somebody at a terminal would, in a process of its own. */
function rooftally(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH ?? '', ...environment };
    execFile(process.execPath, [PROGRAM, ...args], { env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}

describe('the rooftally command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rooftally-'));
  const file = join(folder, 'push.json');
  let system: TestSystem;
  let roofs: Roofs;
  let asPartner: string[];
  let asAdmin: string[];

  before(async () => {
    system = await startTestSystem();
    roofs = await makeRoofs(system.store, { stations: 2, months: ['2026-09', '2026-10'] });
    asPartner = ['--url', system.url, '--key', roofs.partner.key];
    asAdmin = ['--url', system.url, '--token', ADMIN_TOKEN];
    writeFileSync(file, JSON.stringify({ stations: roofs.pushOf() }));
  });
  after(async () => {
    rmSync(folder, { recursive: true });
    await system.stop();
  });

  it('says what it can do', async () => {
    const { code, out } = await rooftally(['--help']);
    expect(code).to.equal(0);
    for (const name of ['demo', 'serve', 'migrate', 'push', 'watch', 'status', 'tasks', 'bench', 'doctor'])
      expect(out).to.match(new RegExp(`^  ${name} `, 'm'));
  });

  it('COV-0 push --watch sends a file and shows what becomes of it to its end', async () => {
    const { code, out } = await rooftally(['push', file, '--watch', '--identity', 'first', ...asPartner]);
    expect(code).to.equal(0);
    expect(out).to.contain('ACCEPTED, 4 of 4 rows, 480.00 of 480.00 CNY accepted');
    expect(out).to.contain('current: 4 of 4 rows, 480.00 of 480.00 CNY');
  });

  it('ING-2 push under the same identity is answered, not done again', async () => {
    const { code, out } = await rooftally(['push', file, '--identity', 'first', ...asPartner]);
    expect(code).to.equal(0);
    expect(out).to.contain('IDEMPOTENCY, 4 of 4 rows');
  });

  for (const [name, form] of [
    ['push.csv', FORMS[4]!],
    ['push.ndjson.gz', FORMS[3]!],
  ] as const) {
    it(`ING-2 ING-7 the same bills in ${name} are a repeat of it`, async () => {
      const other = join(folder, name);
      writeFileSync(other, bodyIn(form, roofs.pushOf() as unknown as StationToSend[]));
      const { code, out } = await rooftally(['push', other, '--identity', 'first', ...asPartner]);
      expect(code).to.equal(0);
      expect(out).to.contain('IDEMPOTENCY, 4 of 4 rows');
    });
  }

  it('ING-7 push of a zipped CSV file to the end', async () => {
    const csv = join(folder, 'again.csv.gz');
    writeFileSync(csv, bodyIn(FORMS[5]!, roofs.pushOf() as unknown as StationToSend[]));
    const { code, out } = await rooftally(['push', csv, '--watch', ...asPartner]);
    expect(code).to.equal(0);
    expect(out).to.contain('current: 4 of 4 rows, 480.00 of 480.00 CNY');
  });

  it('ING-5 push ends with 1 where every row was refused, and says why', async () => {
    const bad = join(folder, 'bad.json');
    writeFileSync(bad, JSON.stringify({ stations: roofs.pushOf(() => ({ billYearMonth: '2026/10' }), [0]) }));
    const { code, out } = await rooftally(['push', bad, ...asPartner]);
    expect(code).to.equal(1);
    expect(out).to.match(/REJECTED, 0 of 2 rows/);
    expect(out).to.match(/refused row 0, .*2026\/10.*\(INVALID_FIELD\)/);
  });

  it('ING-1 watch knows no push of another partner', async () => {
    const other = await makeRoofs(system.store, { stations: 1, months: ['2026-10'] });
    const { code, err } = await rooftally(['watch', '1', '--url', system.url, '--key', other.partner.key]);
    expect(code).to.equal(1);
    expect(err).to.match(/^rooftally: GET .* was answered 404/);
  });

  it('status lists the latest pushes', async () => {
    const { code, out } = await rooftally(['status', ...asAdmin]);
    expect(code).to.equal(0);
    expect(out)
      .to.contain('is ready')
      .and.to.match(/^1 .*ACCEPTED +4 of 4 +480\.00/m);
  });

  it('tasks lists, shows and steers tasks', async () => {
    const { out } = await rooftally(['tasks', 'list', '--status', 'SUCCESS', ...asAdmin]);
    const taskCode = /^PSB:\S+/m.exec(out)?.[0] ?? '';
    expect(taskCode).not.to.equal('');
    const shown = await rooftally(['tasks', 'show', taskCode, ...asAdmin]);
    expect(JSON.parse(shown.out)).to.include({ taskCode, status: 'SUCCESS' });
    const again = await rooftally(['tasks', 'run', 'bill-station', taskCode, ...asAdmin]);
    expect(again.out).to.contain('SKIPPED').and.to.contain('1 selected: 0 succeeded');
    const stopped = await rooftally(['tasks', 'stop', taskCode, ...asAdmin]);
    expect(stopped.code, 'a task that has ended').to.equal(1);
    expect(stopped.err).to.contain('409');
  });

  it('ACC-14 tasks refresh asks for a full refresh of a partner, and says under which name to follow it', async () => {
    const { partnerOrgId } = roofs.partner;
    const { code, out } = await rooftally([
      'tasks',
      'refresh',
      partnerOrgId,
      '--cut-off',
      '2026-09',
      ...asAdmin,
    ]);
    expect(code).to.equal(0);
    const [, taskCode] = /refresh up to 2026-09: (\S+)\n$/.exec(out)!;
    const task = await system.store.one<{ stage: string }>(
      'SELECT stage FROM fi_async_task WHERE task_code = ?',
      [taskCode!],
    );
    expect(task.stage).to.equal('account-full');
    const refused = await rooftally(['tasks', 'refresh', partnerOrgId, '--cut-off', '2026', ...asAdmin]);
    expect([refused.code, refused.out]).to.deep.equal([1, '']);
    expect(refused.err).to.contain('cutOffMonth');
  });

  it('migrate says that there is nothing to do, and doctor that all is well', async () => {
    expect((await rooftally(['migrate'], system.environment)).out).to.equal('the schema is up to date\n');
    const { code, out } = await rooftally(['doctor'], system.environment);
    expect(out).not.to.contain('WRONG');
    expect(code).to.equal(0);
  });

  it('doctor names everything that is missing at once, and ends with 1', async () => {
    const { code, out } = await rooftally(['doctor']);
    expect(code).to.equal(1);
    expect(out)
      .to.match(/WRONG configuration/)
      .and.to.match(/DATABASE_URL/)
      .and.to.match(/REDIS_URL/);
  });

  it('says what to do instead of a stack trace where an option is missing', async () => {
    const { code, err } = await rooftally(['push', file, '--url', system.url, '--partner', 'NOBODY']);
    expect(code).to.equal(1);
    expect(err)
      .to.match(/^rooftally: /)
      .and.not.to.contain('    at ');
  });
});
