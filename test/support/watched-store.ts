/** A store in whose transactions a test can step in between statements. */
import { Store, type Transaction, type TransactionOptions } from '../../src/store/transaction.ts';
import { WatchedTransaction } from './stages.ts';

export class WatchedStore extends Store {
  /** Awaited before each statement of an outermost transaction. */
  before: (statement: string) => void | Promise<void> = () => {};

  override transaction<T>(options: TransactionOptions, work: (tx: Transaction) => Promise<T>): Promise<T> {
    return super.transaction(options, async (outer) => {
      const callbacks: Parameters<Transaction['afterCommit']>[0][] = [];
      const tx = new WatchedTransaction(outer.em, callbacks);
      tx.before = (statement) => this.before(statement);
      const result = await work(tx);
      for (const callback of callbacks) outer.afterCommit(callback);
      return result;
    });
  }
}
