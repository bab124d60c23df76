/** What stays in memory of the rows of a push, by receipt index: some seventy bytes of each; the rest is in its line. */
import { DigestColumn, GrowingColumn } from './columns.ts';
import type { LineRef } from './line-spool.ts';

const NO_RENT = -1n;
const NO_MONTH = 0;

export interface ReadRow {
  readonly line: LineRef;
  readonly stationIndex: number;
  /** Which of its station's bills it is, as a step of its pointer. */
  readonly billStep: number;
  /** `YYYY-MM`; null if it is no month. */
  readonly month: string | null;
  /** Null if it is no amount, which counts 0 (DEC-17). */
  readonly rentCents: bigint | null;
  /** A field of the bill itself is wrong; the line says which. */
  readonly wrong: boolean;
  /** Lower-case hex SHA-256. */
  readonly contentHash: string;
}

export class ReadRows {
  readonly #offset = new GrowingColumn((capacity) => new Float64Array(capacity));
  readonly #length = new GrowingColumn((capacity) => new Uint32Array(capacity));
  readonly #stationIndex = new GrowingColumn((capacity) => new Uint32Array(capacity));
  readonly #billStep = new GrowingColumn((capacity) => new Uint32Array(capacity));
  readonly #month = new GrowingColumn((capacity) => new Uint32Array(capacity));
  readonly #rentCents = new GrowingColumn((capacity) => new BigInt64Array(capacity));
  readonly #wrong = new GrowingColumn((capacity) => new Uint8Array(capacity));
  readonly #contentHash = new DigestColumn();

  get length(): number {
    return this.#offset.length;
  }

  push(row: ReadRow): void {
    this.#offset.push(row.line.offset);
    this.#length.push(row.line.length);
    this.#stationIndex.push(row.stationIndex);
    this.#billStep.push(row.billStep);
    this.#month.push(row.month === null ? NO_MONTH : monthNumber(row.month));
    this.#rentCents.push(row.rentCents ?? NO_RENT);
    this.#wrong.push(row.wrong ? 1 : 0);
    this.#contentHash.push(row.contentHash);
  }

  line(index: number): LineRef {
    return { offset: this.#offset.at(index), length: this.#length.at(index) };
  }

  stationIndex(index: number): number {
    return this.#stationIndex.at(index);
  }

  billStep(index: number): number {
    return this.#billStep.at(index);
  }

  /** For comparing: `202605`; 0 if it is no month. */
  monthNumber(index: number): number {
    return this.#month.at(index);
  }

  /** Of a row that has one. */
  month(index: number): string {
    const text = String(this.#month.at(index));
    return `${text.slice(0, 4)}-${text.slice(4)}`;
  }

  rentCents(index: number): bigint {
    const cents = this.#rentCents.at(index);
    return cents === NO_RENT ? 0n : cents;
  }

  isWrong(index: number): boolean {
    return this.#wrong.at(index) === 1;
  }

  contentHash(index: number): string {
    return this.#contentHash.at(index);
  }

  setContentHash(index: number, hex: string): void {
    this.#contentHash.set(index, hex);
  }
}

export function monthNumber(month: string): number {
  return Number(month.slice(0, 4)) * 100 + Number(month.slice(5));
}
