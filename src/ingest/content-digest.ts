/** What makes two requests the same content: their normalised rows in order and their totals; not format or white space (ING-2). */
import { createHash, type Hash } from 'node:crypto';
import type { ControlTotals } from '../domain/push-outcome.ts';

export class ContentDigest {
  readonly #hash: Hash = createHash('sha256');

  add(rowContentHash: string): void {
    this.#hash.update(rowContentHash);
  }

  end(totals: ControlTotals): string {
    return this.#hash.update(JSON.stringify([totals.count, totals.amount])).digest('hex');
  }
}
