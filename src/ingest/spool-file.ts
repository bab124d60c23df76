/**
 * A temporary file of one request. It is unlinked as soon as it is open and lives as long as its handle, so that not
 * even a killed process leaves one behind.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class SpoolFile implements AsyncDisposable {
  readonly #file: FileHandle;
  #sizeBytes = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @param directory undefined is the system's folder for temporary files */
  static async open(directory: string | undefined): Promise<SpoolFile> {
    const folder = await mkdtemp(join(directory ?? tmpdir(), 'rooftally-spool-'));
    try {
      return new SpoolFile(await open(join(folder, 'spool'), 'wx+', 0o600));
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  async append(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      const at = this.#sizeBytes + written;
      written += (await this.#file.write(bytes, written, bytes.length - written, at)).bytesWritten;
    }
    this.#sizeBytes += bytes.length;
  }

  /** @throws Error where the file has fewer bytes than that */
  async read(offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    await this.#readInto(buffer, offset);
    return buffer;
  }

  /** From the start to the end; each chunk is valid until the next one is asked for. */
  async *chunks(chunkBytes: number): AsyncGenerator<Buffer> {
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (let at = 0; at < this.#sizeBytes; at += chunkBytes) {
      const chunk = buffer.subarray(0, Math.min(chunkBytes, this.#sizeBytes - at));
      await this.#readInto(chunk, at);
      yield chunk;
    }
  }

  async #readInto(buffer: Buffer, offset: number): Promise<void> {
    for (let done = 0; done < buffer.length; ) {
      const { bytesRead } = await this.#file.read(buffer, done, buffer.length - done, offset + done);
      if (bytesRead === 0) throw new Error('A spool file is shorter than what was written to it');
      done += bytesRead;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
