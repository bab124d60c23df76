import { expect } from 'chai';
import { BusyError } from '../../src/errors.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../../src/store/transaction.ts';
import type { TestStore } from '../support/database.ts';
import { holdRows, makeTask, openToyStore, readTask, signal, untilWaiting } from '../support/engine.ts';

const BUMP = 'UPDATE fi_async_task SET request_generation = request_generation + 1 WHERE task_code = ?';

describe('store: transactions', () => {
  let testStore: TestStore;
  let store: Store;
  let other: Store;
  let conflicts = 0;
  const strays: unknown[] = [];

  before(async () => {
    testStore = await openToyStore();
    store = await testStore.openAnother({
      onConflict: () => {
        conflicts += 1;
      },
      onAfterCommitError: (error) => strays.push(error),
    });
    other = await testStore.openAnother();
  });
  after(() => testStore.drop());
  beforeEach(async () => {
    conflicts = 0;
    strays.length = 0;
    await store.change('DELETE FROM fi_async_task');
    await makeTask(store, 'a');
    await makeTask(store, 'b');
  });

  const inTransaction = <T>(work: (tx: Transaction) => Promise<T>) =>
    store.transaction(NEW_READ_COMMITTED, work);
  const generation = async (code: string) => (await readTask(other, code)).requestGeneration;

  it('ENG-7 what follows a commit follows the outer commit, not that of a savepoint', async () => {
    const seen: (readonly [string, number])[] = [];
    await inTransaction(async (tx) => {
      await tx.nested(async (inner) => {
        await inner.change(BUMP, ['a']);
        inner.afterCommit(async () => {
          seen.push(['after', await generation('a')]);
        });
      });
      seen.push(['savepoint released', await generation('a')]);
    });
    expect(seen).to.deep.equal([
      ['savepoint released', 1],
      ['after', 2],
    ]);
  });

  it('ENG-7 what a rolled back savepoint wanted done is forgotten; what stands beside it is done', async () => {
    const done: string[] = [];
    await inTransaction(async (tx) => {
      tx.afterCommit(() => void done.push('outer'));
      await tx
        .nested(async (inner) => {
          await inner.change(BUMP, ['a']);
          inner.afterCommit(() => void done.push('rolled back'));
          await inner.nested(async (innermost) => innermost.afterCommit(() => void done.push('inside it')));
          throw new Error('this savepoint fails');
        })
        .catch(() => undefined);
      await tx.nested(async (inner) => inner.afterCommit(() => void done.push('beside it')));
    });
    expect(done).to.deep.equal(['outer', 'beside it']);
    expect(await generation('a')).to.equal(1);
  });

  it('ENG-7 a rollback is followed by nothing', async () => {
    const done: string[] = [];
    const failure = await inTransaction(async (tx) => {
      tx.afterCommit(() => void done.push('outer'));
      throw new Error('no');
    }).catch((error: Error) => error.message);
    expect(failure).to.equal('no');
    expect(done).to.deep.equal([]);
  });

  it('ENG-7 a failure of what follows is nobody’s failure, and the rest still follows', async () => {
    const done: string[] = [];
    const result = await inTransaction(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('refused');
      });
      tx.afterCommit(async () => {
        throw new Error('refused later');
      });
      tx.afterCommit(() => void done.push('third'));
      return 'committed';
    });
    expect(result).to.equal('committed');
    expect(done).to.deep.equal(['third']);
    expect(strays.map((error) => (error as Error).message)).to.deep.equal(['refused', 'refused later']);
  });

  it('ENG-13 a deadlock runs the whole outer transaction again, at once, and what it asked for once', async () => {
    const bothHoldOne = signal();
    const otherHoldsB = signal();
    const done: string[] = [];
    let runs = 0;
    const opponent = other.transaction(NEW_READ_COMMITTED, async (tx) => {
      await tx.change(BUMP, ['b']);
      otherHoldsB.give();
      await bothHoldOne.given;
      // Heavier than its opponent, so that the database picks the other one.
      for (const weight of [1, 2, 3]) await makeTask(tx, `weight-${weight}-${Math.random()}`);
      await tx.change(BUMP, ['a']);
    });
    await otherHoldsB.given;
    await inTransaction(async (tx) => {
      runs += 1;
      tx.afterCommit(() => void done.push(`run ${runs}`));
      await tx.nested(async (inner) => {
        await inner.change(BUMP, ['a']);
        if (runs === 1) {
          bothHoldOne.give();
          await untilWaiting(other);
        }
        await inner.change(BUMP, ['b']);
      });
    });
    await opponent;
    expect(runs).to.equal(2);
    expect(conflicts).to.equal(1);
    expect(done).to.deep.equal(['run 2']);
    expect([await generation('a'), await generation('b')]).to.deep.equal([3, 3]);
  });

  it('ENG-13 a lock wait that ends runs the transaction again; what was written before it is not kept', async () => {
    const held = await holdRows(other, 'SELECT id FROM fi_async_task WHERE task_code = ? FOR UPDATE', ['b']);
    let runs = 0;
    await inTransaction(async (tx) => {
      runs += 1;
      if (runs === 2) await held.release();
      await tx.change(BUMP, ['a']);
      await tx.change(BUMP, ['b']);
    });
    expect(runs).to.equal(2);
    expect(await generation('a')).to.equal(2);
  });

  it('ENG-13 conflicts are tried six times in all, then they are an ordinary failure', async () => {
    let runs = 0;
    const failure = await inTransaction(async (tx) => {
      runs += 1;
      await tx.change(BUMP, ['a']);
      await tx.change("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'");
    }).catch((error: Error) => error.name);
    expect(failure).to.equal('DeadlockException');
    expect([runs, conflicts]).to.deep.equal([6, 5]);
    expect(await generation('a')).to.equal(1);
  });

  it('ENG-13 work that swallows a deadlock cannot go on outside its transaction, which is gone', async () => {
    let runs = 0;
    const wentOn: number[] = [];
    await inTransaction(async (tx) => {
      runs += 1;
      await tx.change(BUMP, ['a']);
      const deadlock = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'";
      if (runs === 1) await tx.nested((inner) => inner.change(deadlock)).catch(() => undefined);
      if (runs === 2) await tx.change(deadlock).catch(() => undefined);
      if (runs === 2) return;
      if (runs === 3)
        await tx.change(deadlock).catch((cause) => {
          throw new Error('told in other words', { cause });
        });
      await tx.change(BUMP, ['b']);
      wentOn.push(runs);
    });
    expect(wentOn, 'no statement after a deadlock').to.deep.equal([4]);
    expect(runs).to.equal(4);
    expect([await generation('a'), await generation('b')]).to.deep.equal([2, 2]);
  });

  it('ENG-13 other errors run nothing again', async () => {
    let runs = 0;
    await inTransaction(async () => {
      runs += 1;
      throw new BusyError('a guard');
    }).catch(() => undefined);
    expect(runs).to.equal(1);
  });

  it('a session that dies inside a transaction rolls it back and leaves the pool as it was', async () => {
    // Twice as many as the pool has connections: one that is lost each time would leave none.
    for (let round = 0; round < 24; round++) {
      const failure = await inTransaction(async (tx) => {
        await tx.change(BUMP, ['a']);
        const { id } = await tx.one<{ id: string }>('SELECT CONNECTION_ID() id');
        await other.change(`KILL ${id}`);
        await tx.change(BUMP, ['b']);
      }).then(
        () => 'committed',
        () => 'failed',
      );
      expect(failure).to.equal('failed');
    }
    const all = await Promise.all(
      Array.from({ length: 12 }, () => inTransaction((tx) => tx.one<{ one: number }>('SELECT 1 one'))),
    );
    expect(all).to.have.length(12);
    expect(await generation('a')).to.equal(1);
  });
});
