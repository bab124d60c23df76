/** Lines of text in a temporary file: appended in one order, read again in any, none of them kept in memory. */
import { SpoolFile } from './spool-file.ts';

const PENDING_BYTES_MAX = 256 * 1024;
const READ_BYTES_MAX = 1024 * 1024;
/** Lines nearer to each other than this are read together, with what lies between them. */
const GAP_BYTES_MAX = 64 * 1024;

export interface LineRef {
  readonly offset: number;
  readonly length: number;
}

interface Span {
  readonly offset: number;
  end: number;
  readonly members: number[];
}

export class LineSpool implements AsyncDisposable {
  readonly #file: SpoolFile;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  private constructor(file: SpoolFile) {
    this.#file = file;
  }

  static async open(directory: string | undefined): Promise<LineSpool> {
    return new LineSpool(await SpoolFile.open(directory));
  }

  /** Kept in memory until `flushIfFull` or `flush`. */
  append(line: string): LineRef {
    const bytes = Buffer.from(line);
    const ref = { offset: this.#file.sizeBytes + this.#pendingBytes, length: bytes.length };
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    return ref;
  }

  async flushIfFull(): Promise<void> {
    if (this.#pendingBytes >= PENDING_BYTES_MAX) await this.flush();
  }

  async flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    await this.#file.append(bytes);
  }

  /** The lines in the order of their references. What was appended must have been flushed. */
  async lines(refs: readonly LineRef[]): Promise<string[]> {
    const lines = new Array<string>(refs.length);
    for (const span of spansOf(refs)) {
      const bytes = await this.#file.read(span.offset, span.end - span.offset);
      for (const member of span.members) {
        const start = refs[member]!.offset - span.offset;
        lines[member] = bytes.toString('utf8', start, start + refs[member]!.length);
      }
    }
    return lines;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}

function spansOf(refs: readonly LineRef[]): Span[] {
  const order = refs.map((_, index) => index).sort((a, b) => refs[a]!.offset - refs[b]!.offset);
  const spans: Span[] = [];
  for (const index of order) {
    const ref = refs[index]!;
    const end = ref.offset + ref.length;
    const last = spans.at(-1);
    if (last !== undefined && ref.offset - last.end <= GAP_BYTES_MAX && end - last.offset <= READ_BYTES_MAX) {
      last.end = Math.max(last.end, end);
      last.members.push(index);
    } else {
      spans.push({ offset: ref.offset, end, members: [index] });
    }
  }
  return spans;
}
