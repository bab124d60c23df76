/**
 * What became of each row, by receipt index. A refusal's sentence is made when it is asked for, so that a push of
 * nothing but refused rows costs no more memory than another.
 */
import { judgeRow, type LockAnswer, type MappedStation } from '../domain/judge-row.ts';
import type { Refusal } from '../domain/refusal.ts';
import { billPointer, isRefusedByItself, type ReadPush } from './check-rows.ts';

/** Null: the partner has no such station. */
export type MappingOf = (stationIndex: number) => MappedStation | null;

const LOCK_ANSWERS: readonly LockAnswer[] = ['UNKNOWN', 'FREE', 'LOCKED'];
const NONE = 0;

export class Verdicts {
  readonly #push: ReadPush;
  readonly #mappingOf: MappingOf;
  /** Positions in LOCK_ANSWERS. */
  readonly #locks: Uint8Array;
  readonly #accepted: Uint8Array;
  /** The accepted row that a row duplicates, plus one. */
  readonly #acceptedBefore: Uint32Array;
  #lastAccepted: number | null = null;
  #acceptedCount = 0;
  #acceptedCents = 0n;

  constructor(push: ReadPush, mappingOf: MappingOf) {
    this.#push = push;
    this.#mappingOf = mappingOf;
    this.#locks = new Uint8Array(push.rows.length);
    this.#accepted = new Uint8Array(push.rows.length);
    this.#acceptedBefore = new Uint32Array(push.rows.length);
  }

  get acceptedCount(): number {
    return this.#acceptedCount;
  }

  get acceptedCents(): bigint {
    return this.#acceptedCents;
  }

  isAccepted(index: number): boolean {
    return this.#accepted[index] === 1;
  }

  /** Until it is told, a lock is unknown, which refuses a row that depends on it (ING-4). */
  setLock(index: number, answer: LockAnswer): void {
    this.#locks[index] = LOCK_ANSWERS.indexOf(answer);
  }

  /** Called once for each row, in the order of row numbers: the rows of a station-month one after the other. */
  judge(index: number): void {
    if (isRefusedByItself(this.#push, index)) return;
    const last = this.#lastAccepted;
    if (last !== null && this.#isSameStationMonth(last, index)) this.#acceptedBefore[index] = last + 1;
    if (this.refusal(index) !== null) return;
    this.#accepted[index] = 1;
    this.#lastAccepted = index;
    this.#acceptedCount += 1;
    this.#acceptedCents += this.#push.rows.rentCents(index);
  }

  /** Null: accepted, or refused by itself, which its line tells. */
  refusal(index: number): Refusal | null {
    if (isRefusedByItself(this.#push, index)) return null;
    const { rows, stations } = this.#push;
    const stationIndex = rows.stationIndex(index);
    const before = this.#acceptedBefore[index]!;
    return judgeRow(
      {
        stationNo: stations.shownStationNo(stationIndex)!,
        partnerStationId: stations.partnerStationId(stationIndex),
        month: rows.month(index),
        stationPointer: stations.pointer(stationIndex),
        billPointer: billPointer(this.#push, index),
      },
      {
        mapping: this.#mappingOf(stationIndex),
        lock: LOCK_ANSWERS[this.#locks[index]!]!,
        acceptedBefore: before === NONE ? null : billPointer(this.#push, before - 1),
      },
    );
  }

  #isSameStationMonth(a: number, b: number): boolean {
    const { rows, stations } = this.#push;
    return (
      rows.monthNumber(a) === rows.monthNumber(b) &&
      stations.shownStationNo(rows.stationIndex(a)) === stations.shownStationNo(rows.stationIndex(b))
    );
  }
}
