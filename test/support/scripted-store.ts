/** A store whose outermost transactions are counted, and the answers to whose commits can be lost. */
import { Store, type Transaction, type TransactionOptions } from '../../src/store/transaction.ts';

export class ScriptedStore extends Store {
  /** How many transactions have been begun. */
  transactions = 0;
  /** Asked for each transaction, by its number from 1: the commit is made, and the caller sees an error. */
  losesAnswerOf: (transaction: number) => boolean = () => false;
  /** Runs before a transaction begins; what it throws is all that the caller sees. */
  beforeBegin: (transaction: number) => void | Promise<void> = () => {};

  override async transaction<T>(
    options: TransactionOptions,
    work: (tx: Transaction) => Promise<T>,
  ): Promise<T> {
    const number = ++this.transactions;
    await this.beforeBegin(number);
    const result = await super.transaction(options, work);
    if (this.losesAnswerOf(number)) throw new Error('Connection lost: The server closed the connection.');
    return result;
  }
}
