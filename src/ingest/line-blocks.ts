/**
 * A body made of lines, cut between lines only: so what reads it sees whole characters and whole lines, wherever the
 * pieces of the body break, and every complaint names a line. Lines are counted from 1, as editors do.
 */
import { isUtf8 } from 'node:buffer';
import { Problem } from '../http/problem.ts';

/** A station's line of NDJSON with the bills of fifteen years has some hundred kilobytes. */
export const LINE_BYTES_MAX = 1024 * 1024;

const SHORTER_LINES = 'Spread it over several lines, or shorten its texts.';

const NEWLINE = 0x0a;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

export interface LineBlock {
  /** The number of the first of its lines. */
  readonly firstLine: number;
  /** Whole lines of UTF-8, each with its line feed; only the body's last line may lack it. */
  readonly bytes: Buffer;
  /** For each line, where in `bytes` the next one begins. */
  readonly ends: readonly number[];
}

/**
 * A byte order mark is dropped. A body of no bytes at all is refused: whoever sends nothing has more likely lost a file
 * than bills.
 * @throws Problem 400 for what is no UTF-8 text, 413 for a line over `LINE_BYTES_MAX`
 */
export async function* lineBlocks(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<LineBlock> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  let firstLine = 1;
  const cut = (bytes: Buffer): LineBlock => {
    const block = blockOf(firstLine === 1 ? withoutMark(bytes) : bytes, firstLine);
    firstLine += block.ends.length;
    return block;
  };
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      yield cut(Buffer.concat([...rest, piece.subarray(0, end)]));
      rest = [];
      restBytes = 0;
    }
    if (end < piece.length) {
      rest.push(Buffer.from(piece.subarray(end)));
      restBytes += piece.length - end;
    }
    if (restBytes > LINE_BYTES_MAX) throw lineTooLarge(firstLine, SHORTER_LINES);
  }
  if (restBytes > 0) yield cut(Buffer.concat(rest));
  else if (firstLine === 1) throw malformedLine(1, 'the body is empty.');
}

/** @param why a sentence's rest: it follows "Correct line 7: " */
export function malformedLine(line: number, why: string, cause?: unknown): Problem {
  return new Problem(400, 'MALFORMED_BODY', `Correct line ${line}: ${why}`, {
    members: { pointer: linePointer(line), line },
    cause,
  });
}

/** How a line of the body is pointed at in receipts and problems. */
export function linePointer(line: number): string {
  return `/lines/${line}`;
}

function blockOf(bytes: Buffer, firstLine: number): LineBlock {
  const ends = lineEnds(bytes);
  assertText(bytes, ends, firstLine);
  return { firstLine, bytes, ends };
}

function lineEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
    ends.push(at + 1);
    // Blank lines come in runs: a search for each would cost more than all the rest.
    while (bytes[at + 1] === NEWLINE) ends.push(++at + 1);
  }
  if ((ends.at(-1) ?? 0) < bytes.length) ends.push(bytes.length);
  return ends;
}

function assertText(bytes: Buffer, ends: readonly number[], firstLine: number): void {
  const isText = isUtf8(bytes) && !bytes.includes(0);
  let start = 0;
  for (const [at, end] of ends.entries()) {
    if (end - start > LINE_BYTES_MAX) throw lineTooLarge(firstLine + at, SHORTER_LINES);
    if (!isText) assertLineOfText(bytes.subarray(start, end), firstLine + at);
    start = end;
  }
}

function assertLineOfText(line: Buffer, number: number): void {
  if (!isUtf8(line))
    throw malformedLine(number, 'it is not UTF-8. Save the file as UTF-8 and send it again.');
  if (line.includes(0)) {
    throw malformedLine(
      number,
      'it has a NUL byte. If the file is UTF-16, save it as UTF-8 and send it again.',
    );
  }
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? bytes.subarray(BYTE_ORDER_MARK.length)
    : bytes;
}

/** @param hint a sentence: what to do, or to look at */
export function lineTooLarge(line: number, hint: string): Problem {
  return new Problem(
    413,
    'LINE_TOO_LARGE',
    `A line may have at most ${LINE_BYTES_MAX} bytes (lineBytesMax); the one that begins as line ${line} has more. ${hint}`,
    { members: { limit: { name: 'lineBytesMax', value: LINE_BYTES_MAX }, line } },
  );
}
