/** A turn that has claimed its task and waits for a platform station's guard, while a test does something. */
import { lockGuards, platformStationGuard } from '../../src/store/guards.ts';
import type { Sql } from '../../src/store/sql.ts';
import { NEW_READ_COMMITTED, type Transaction } from '../../src/store/transaction.ts';
import { signal, untilWaiting } from './engine.ts';
import type { Stages } from './stages.ts';

/** `act` is whoever holds the guard; the turn goes on after its commit. */
export async function whileTurnWaits(
  stages: Stages,
  platformStationId: string,
  turn: () => Promise<unknown>,
  act: (tx: Transaction) => Promise<unknown>,
): Promise<void> {
  const other = await stages.testStore.openAnother();
  const running = signal<Promise<unknown>>();
  await other.transaction(NEW_READ_COMMITTED, async (tx) => {
    await lockGuards(tx, [{ key: platformStationGuard(platformStationId) }]);
    running.give(turn());
    await untilWaiting(stages.store);
    await act(tx);
  });
  await running.given;
}

/** Ends the session of the one transaction that waits: its work breaks, once. */
export async function killWaiting(sql: Sql): Promise<void> {
  const { id } = await sql.one<{ id: string }>(
    `SELECT t.trx_mysql_thread_id id FROM information_schema.innodb_trx t
       JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
      WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()`,
  );
  await sql.change(`KILL ${Number(id)}`);
}
