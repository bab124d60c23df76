/**
 * A worker process for tests that kill or freeze it: takes turns of one slot with the toy's business, which here is said
 * by each task's data: `{"do": "kill"}` ends the process in the middle of its transaction, `{"do": "wait"}` tells the
 * parent and goes on when it is told to. Started by `startChild`; speaks through the channel to its parent.
 */
import { MikroORM } from '@mikro-orm/mysql';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { Store } from '../../src/store/transaction.ts';
import { takeTurn } from '../../src/tasks/take-turn.ts';
import type { ChildOrder, ChildReport } from './child.ts';
import { makeEngine } from './engine.ts';

const order = JSON.parse(process.argv[2] ?? '{}') as ChildOrder;
const report = (message: ChildReport) => process.send?.(message);

const orm = await MikroORM.init({
  ...mikroOrmOptions({ databaseUrl: order.databaseUrl, poolMax: 4, waitTimeoutS: order.waitTimeoutS ?? 25 }),
  logger: () => {},
});
const { engine, toy, observed } = makeEngine(new Store(orm), {
  worker: order.worker,
  limits: { slotLeaseMs: order.slotLeaseMs ?? 30_000 },
});

toy.always(async (_tx, task) => {
  const { do: what } = task.taskData as { do?: 'kill' | 'wait' };
  if (what === 'kill') process.kill(process.pid, 'SIGKILL');
  if (what === 'wait') {
    report({ at: 'work', taskCode: task.taskCode });
    await new Promise<void>((resolve) => process.once('message', () => resolve()));
  }
});

const outcome = await takeTurn(engine, toy, order.slot, { contended: false }).catch(
  (error: Error) => error.message,
);
report({ at: 'end', outcome, trouble: observed.of('trouble').map(([where, error]) => `${where}: ${error}`) });
await orm.close(true);
process.disconnect?.();
