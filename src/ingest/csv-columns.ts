/** The header line of a CSV push: the fields of a station and of a bill by their names, in any order (DEC-1). */
import { BILL_FIELDS, type FieldSpec, STATION_FIELDS } from '../domain/pushed-fields.ts';
import type { RawValue } from '../domain/raw-value.ts';
import type { CsvRecord } from './csv-records.ts';
import { malformedLine } from './line-blocks.ts';

const FIELDS: ReadonlyMap<string, FieldSpec> = new Map(
  Object.entries({ ...STATION_FIELDS, ...BILL_FIELDS } as Record<string, FieldSpec>),
);
const NAMED_MAX = 5;

export interface CsvLine {
  readonly station: Map<string, RawValue>;
  readonly bill: Map<string, RawValue>;
}

export class CsvColumns {
  readonly #names: readonly string[];

  /**
   * A line break in a column's name is a fault in every mode: where lines end otherwise, a whole file of bills is one
   * header line, and would be a push of no rows where unknown columns are ignored.
   * @throws Problem 400 for a column that is missing or named twice, and in strict mode for one that is unknown
   */
  constructor({ line, cells }: CsvRecord, strict: boolean) {
    if (cells.some((cell) => /[\r\n]/.test(cell))) throw malformedLine(line, BROKEN);
    const faults = [...missing(cells), ...repeated(cells), ...(strict ? unknown(cells) : [])];
    if (faults.length > 0) {
      throw malformedLine(line, `the header line ${faults.join('; ')}. ${commaHint(cells)}${KNOWN}`);
    }
    this.#names = cells;
  }

  /**
   * An empty cell is an absent value. A column that nobody knows counts as a field of its bill.
   * @throws Problem 400 for the header line once more, as where files were put together
   */
  read({ line, cells }: CsvRecord): CsvLine {
    if (cells[0] === this.#names[0] && cells.every((cell, at) => cell === this.#names[at])) {
      throw malformedLine(line, 'it is the header line once more. Send it once, as the first line.');
    }
    const station = new Map<string, RawValue>();
    const bill = new Map<string, RawValue>();
    for (const [at, cell] of cells.entries()) {
      if (cell === '') continue;
      const name = this.#names[at]!;
      const fields = Object.hasOwn(STATION_FIELDS, name) ? station : bill;
      fields.set(name, FIELDS.get(name)?.cell(cell) ?? cell);
    }
    return { station, bill };
  }
}

const KNOWN = `Known are ${[...FIELDS.keys()].join(', ')}.`;

const BROKEN =
  'a column of the header line has a line break in its name. End each line with a line feed, with or without a carriage return before it.';

function missing(cells: readonly string[]): string[] {
  return [...FIELDS]
    .filter(([name, spec]) => spec.required && !cells.includes(name))
    .map(([name]) => `lacks the column ${name}`);
}

function repeated(cells: readonly string[]): string[] {
  return [...FIELDS.keys()]
    .filter((name) => cells.indexOf(name) !== cells.lastIndexOf(name))
    .map((name) => `names ${name} twice`);
}

function unknown(cells: readonly string[]): string[] {
  const found = cells.filter((cell) => !FIELDS.has(cell));
  if (found.length === 0) return [];
  const named = found.slice(0, NAMED_MAX).map((cell) => JSON.stringify(cell.slice(0, 40)));
  const more = found.length > named.length ? ` and ${found.length - named.length} more` : '';
  return [`has ${named.join(', ')}${more}, which no bill has`];
}

function commaHint(cells: readonly string[]): string {
  return cells.length === 1 && /[;\t]/.test(cells[0]!) ? 'Separate cells by commas. ' : '';
}
