/**
 * RFC 4180 as a stream: records of cells, each with the line that it begins in. Commas, double quotes, CRLF or LF; blank
 * lines are skipped; every record has as many cells as the first.
 */
import { type CsvError, type InfoRecord, type Parser, parse } from 'csv-parse';
import type { Problem } from '../http/problem.ts';
import { LINE_BYTES_MAX, type LineBlock, lineTooLarge, malformedLine } from './line-blocks.ts';

export interface CsvRecord {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * @returns what each block completes; the records before a fault come first, since they may have an earlier one
 * @throws Problem 400 that names the line, 413 for a record without end
 */
export async function* csvRecords(blocks: AsyncIterable<LineBlock>): AsyncGenerator<readonly CsvRecord[]> {
  const reader = new CsvRecordReader();
  for await (const block of blocks) {
    const fault = await reader.read(block);
    yield reader.take();
    if (fault !== null) throw fault;
  }
  const fault = await reader.end();
  yield reader.take();
  if (fault !== null) throw fault;
}

class CsvRecordReader {
  readonly #parser: Parser;
  #records: CsvRecord[] = [];
  #headerCellCount = 0;
  /** Where each line feed stands, counted from the body's start: from `#nextFeed` on those that no record has passed yet. */
  #lineFeeds: number[] = [];
  #nextFeed = 0;
  #readBytes = 0;
  /** The lines, and the blank ones, that the records so far have passed. */
  #passedCount = 0;
  #blankCount = 0;

  constructor() {
    this.#parser = parse({
      record_delimiter: ['\r\n', '\n'],
      skip_empty_lines: true,
      max_record_size: LINE_BYTES_MAX,
      on_record: (cells: string[], info: InfoRecord) => {
        this.#keep(cells, info);
        return null;
      },
    });
    // A fault is told to the write that brought it.
    this.#parser.on('error', () => {});
  }

  async read(block: LineBlock): Promise<Problem | null> {
    // Dropped a block at a time: to move the rest up for each record takes longer than to read it.
    this.#lineFeeds.splice(0, this.#nextFeed);
    this.#nextFeed = 0;
    for (const end of block.ends) this.#lineFeeds.push(this.#readBytes + end - 1);
    this.#readBytes += block.bytes.length;
    const fault = await this.#told((tell) => this.#parser.write(block.bytes, tell));
    if (fault === null) this.#passBlanks(this.#parser.info.empty_lines);
    return fault;
  }

  end(): Promise<Problem | null> {
    return this.#told((tell) => this.#parser.end(tell));
  }

  take(): readonly CsvRecord[] {
    const records = this.#records;
    this.#records = [];
    return records;
  }

  #told(step: (tell: (error?: Error | null) => void) => void): Promise<Problem | null> {
    return new Promise((resolve) => {
      step((error) => resolve(error ? this.#problem(error as CsvError) : null));
    });
  }

  #keep(cells: readonly string[], { bytes, empty_lines, records }: InfoRecord): void {
    if (records === 1) this.#headerCellCount = cells.length;
    this.#records.push({ line: this.#lineOfNext(empty_lines), cells });
    while (this.#nextFeed < this.#lineFeeds.length && this.#lineFeeds[this.#nextFeed]! < bytes) this.#pass(1);
    this.#blankCount = empty_lines;
  }

  /** Blank lines come before their record begins: they are passed at once, since there may be no end of them. */
  #passBlanks(blankCount: number): void {
    this.#pass(blankCount - this.#blankCount);
    this.#blankCount = blankCount;
  }

  #pass(lineCount: number): void {
    this.#nextFeed = Math.min(this.#nextFeed + lineCount, this.#lineFeeds.length);
    this.#passedCount += lineCount;
  }

  /** The parser's own count of lines takes a CRLF inside quotes for two. */
  #lineOfNext(blankCount: number): number {
    return this.#passedCount + 1 + (blankCount - this.#blankCount);
  }

  #problem(error: CsvError): Problem {
    // What it knows of where it was stands beside what every fault has.
    const { empty_lines: blankCount, record } = error as { empty_lines?: number; record?: readonly string[] };
    const line = this.#lineOfNext(blankCount ?? this.#blankCount);
    if (error.code === 'CSV_MAX_RECORD_SIZE') return lineTooLarge(line, 'Is a quote not closed?');
    if (record !== undefined) {
      const count = `it has ${record.length} cells, the header line has ${this.#headerCellCount}.`;
      return malformedLine(line, `${count} Put a cell that has a comma into quotes.`, error);
    }
    return malformedLine(line, sentenceOf(error), error);
  }
}

function sentenceOf(error: CsvError): string {
  switch (error.code) {
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'after a quote that closes a cell comes neither a comma nor the end of the line. Write a quote inside a cell twice.';
    case 'INVALID_OPENING_QUOTE':
      return 'a quote stands in a cell that does not begin with one. Put the whole cell into quotes, and write the quote inside it twice.';
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is opened and never closed.';
    default:
      return error.message;
  }
}
