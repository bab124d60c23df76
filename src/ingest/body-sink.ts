/**
 * Where the bytes of a body go as they come: into the spool as they are, or unzipped. What is in the spool is bounded
 * by `bytesMax` either way, so that a small body that unzips into an endless one ends where a large one does (ING-7).
 */
import { createGunzip, type Gunzip } from 'node:zlib';
import { Problem } from '../http/problem.ts';
import type { IngestLimits } from './limits.ts';
import type { SpoolFile } from './spool-file.ts';

export type BodyEncoding = 'identity' | 'gzip';

const UNZIPPED_PIECE_BYTES = 64 * 1024;

export interface BodySink extends Disposable {
  /** Resolves when everything that the chunk brought is in the spool. @throws Problem 413, 400 */
  write(chunk: Buffer): Promise<void>;
  /** @throws Problem 400 where the encoding is not at its end */
  end(): Promise<void>;
}

export function bodySink(encoding: BodyEncoding, spool: SpoolFile, limits: IngestLimits): BodySink {
  const bounded = new BoundedSpool(spool, limits);
  return encoding === 'gzip' ? new UnzippingSink(bounded) : bounded;
}

export function tooManyBytes({ bytesMax }: IngestLimits): Problem {
  return new Problem(
    413,
    'BODY_TOO_LARGE',
    `A push may have at most ${bytesMax} bytes (bytesMax), unzipped. Split it into several pushes, each with an identity of its own.`,
    { members: { limit: { name: 'bytesMax', value: bytesMax } } },
  );
}

class BoundedSpool implements BodySink {
  readonly #spool: SpoolFile;
  readonly #limits: IngestLimits;

  constructor(spool: SpoolFile, limits: IngestLimits) {
    this.#spool = spool;
    this.#limits = limits;
  }

  async write(chunk: Buffer): Promise<void> {
    if (this.#spool.sizeBytes + chunk.length > this.#limits.bytesMax) throw tooManyBytes(this.#limits);
    await this.#spool.append(chunk);
  }

  async end(): Promise<void> {}

  [Symbol.dispose](): void {}
}

class UnzippingSink implements BodySink {
  readonly #gunzip: Gunzip = createGunzip({ chunkSize: UNZIPPED_PIECE_BYTES });
  /** Ends when all is unzipped, and has the cause where anything failed. */
  readonly #unzipped: Promise<void>;
  #giveUpWrite = (): void => {};

  constructor(to: BodySink) {
    this.#unzipped = unzipInto(this.#gunzip, to);
    this.#unzipped.catch(() => this.#giveUpWrite());
  }

  async write(chunk: Buffer): Promise<void> {
    const failed = await new Promise<boolean>((resolve) => {
      // The write in which unzipping fails is not always called back.
      this.#giveUpWrite = () => resolve(true);
      this.#gunzip.write(chunk, (error) => resolve(error !== null && error !== undefined));
    });
    if (failed) await this.#unzipped;
  }

  async end(): Promise<void> {
    this.#gunzip.end();
    await this.#unzipped;
  }

  [Symbol.dispose](): void {
    this.#gunzip.destroy();
  }
}

async function unzipInto(gunzip: Gunzip, to: BodySink): Promise<void> {
  try {
    for await (const piece of gunzip) await to.write(piece as Buffer);
  } catch (error) {
    throw error instanceof Problem ? error : malformedGzip(error);
  }
}

function malformedGzip(cause: unknown): Problem {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Problem(
    400,
    'MALFORMED_ENCODING',
    `Send the whole body as gzip, or without Content-Encoding: it could not be unzipped (${why}).`,
    { cause },
  );
}
