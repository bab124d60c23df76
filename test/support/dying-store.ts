/** A store whose process is gone after so many transactions: nothing is begun by it any more, nothing given back. */
import { FencedOutError } from '../../src/errors.ts';
import { ScriptedStore } from './scripted-store.ts';

export class DyingStore extends ScriptedStore {
  dieAfter(transactions: number): this {
    this.beforeBegin = (number) => {
      // The one error after which an engine touches nothing more.
      if (number > transactions) throw new FencedOutError('this process is gone');
    };
    return this;
  }
}
