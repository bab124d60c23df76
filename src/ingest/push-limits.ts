/** How much one push may hold, counted while it is read: the first row or station too many ends it (ING-7). */
import { Problem } from '../http/problem.ts';
import type { IngestLimits } from './limits.ts';

export class PushLimits {
  readonly #limits: IngestLimits;
  readonly #stationNos = new Set<string>();
  #rowCount = 0;
  #entryCount = 0;

  constructor(limits: IngestLimits) {
    this.#limits = limits;
  }

  /** @throws Problem 413 */
  countRow(): void {
    this.#rowCount += 1;
    if (this.#rowCount > this.#limits.rowsMax) throw tooMany('rowsMax', this.#limits.rowsMax, 'bills');
  }

  /** Distinct stations count; entries without bills are bounded too, since each costs memory. @throws Problem 413 */
  countStation(stationNo: string | null): void {
    this.#entryCount += 1;
    if (stationNo !== null) this.#stationNos.add(stationNo);
    const entriesMax = this.#limits.rowsMax + this.#limits.stationsMax;
    if (this.#stationNos.size > this.#limits.stationsMax || this.#entryCount > entriesMax) {
      throw tooMany('stationsMax', this.#limits.stationsMax, 'stations');
    }
  }
}

function tooMany(name: string, value: number, noun: string): Problem {
  return new Problem(
    413,
    'PUSH_TOO_LARGE',
    `A push may have at most ${value} ${noun} (${name}). Split it into several pushes, each with an identity of its own.`,
    { members: { limit: { name, value } } },
  );
}
