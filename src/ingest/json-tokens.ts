/** JSON as a stream of tokens: strict UTF-8, numbers as text, bounded depth and token size, since a client's JSON is not trusted. */
import { jsonParser, type Token } from 'stream-json/parser.js';
import { Problem } from '../http/problem.ts';
import { malformedLine } from './line-blocks.ts';

/** A push is five levels deep; more is somebody's game with our memory. */
const DEPTH_MAX = 32;
/** The longest legal field has 255 characters; a token that does not end is not read into memory for ever. */
const TOKEN_BYTES_MAX = 1024 * 1024;

export class JsonTokenReader {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  readonly #tokenise = jsonParser({ packValues: true, streamValues: false });
  #depth = 0;
  #readBytes = 0;
  #silentBytes = 0;
  #complete = false;

  /** @throws Problem 400 `MALFORMED_BODY`, 413 for a token without end */
  read(bytes: Uint8Array): readonly Token[] {
    const text = this.#decode(bytes, true);
    this.#readBytes += bytes.length;
    return this.#tokens(text, bytes.length);
  }

  /** @throws Problem 400 where the body ends before its value does */
  end(): readonly Token[] {
    const tokens = this.#tokens(`${this.#decode(new Uint8Array(), false)}\n`, 0);
    if (!this.#complete) throw this.#malformed('the body ends too early');
    return tokens;
  }

  #decode(bytes: Uint8Array, stream: boolean): string {
    try {
      return this.#decoder.decode(bytes, { stream });
    } catch (error) {
      throw this.#malformed('it is not UTF-8', error);
    }
  }

  #tokens(text: string, byteCount: number): readonly Token[] {
    const tokens = this.#parse(text);
    this.#silentBytes = tokens.length === 0 ? this.#silentBytes + byteCount : 0;
    if (this.#silentBytes > TOKEN_BYTES_MAX) throw this.#tokenTooLong();
    for (const token of tokens) this.#count(token);
    return tokens;
  }

  #parse(text: string): readonly Token[] {
    try {
      const result = this.#tokenise(text);
      return typeof result === 'symbol' ? [] : (result as { values: Token[] }).values;
    } catch (error) {
      throw this.#malformed(error instanceof Error ? error.message : String(error), error);
    }
  }

  #count(token: Token): void {
    if (token.name === 'startObject' || token.name === 'startArray') {
      if (++this.#depth > DEPTH_MAX) throw this.#malformed(`it is nested deeper than ${DEPTH_MAX} levels`);
    } else if (token.name === 'endObject' || token.name === 'endArray') {
      this.#depth -= 1;
    }
    if (this.#depth === 0) this.#complete = true;
  }

  #malformed(why: string, cause?: unknown): Problem {
    return new Problem(
      400,
      'MALFORMED_BODY',
      `Send well-formed JSON: around byte ${this.#readBytes} ${why}.`,
      { cause },
    );
  }

  #tokenTooLong(): Problem {
    return new Problem(
      413,
      'TOKEN_TOO_LARGE',
      `No value in a push may be longer than ${TOKEN_BYTES_MAX} bytes.`,
      {
        members: { limit: { name: 'tokenBytesMax', value: TOKEN_BYTES_MAX } },
      },
    );
  }
}

/** Lines that are one JSON value each (NDJSON). */
export class JsonLineReader {
  /** @param line not blank, with or without its line feed. @throws Problem 400 that names the line */
  read(line: string, number: number): readonly Token[] {
    const tokens = this.#parse(line, number);
    let depth = 0;
    for (const token of tokens) {
      if (token.name === 'startObject' || token.name === 'startArray') {
        if (++depth > DEPTH_MAX) throw malformedLine(number, `it is nested deeper than ${DEPTH_MAX} levels.`);
      } else if (token.name === 'endObject' || token.name === 'endArray') {
        depth -= 1;
      }
    }
    if (depth > 0 || tokens.length === 0)
      throw malformedLine(number, 'the JSON value does not end on its line.');
    return tokens;
  }

  /**
   * A line has a tokeniser of its own, which takes one value and nothing after it: one that goes on with the next value
   * would hold back a word or a text that only begins on the line, and say nothing of it where the body ends.
   */
  #parse(line: string, number: number): readonly Token[] {
    const tokenise = jsonParser({ packValues: true, streamValues: false });
    try {
      const result = tokenise(`${line}\n`);
      return typeof result === 'symbol' ? [] : (result as { values: Token[] }).values;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw malformedLine(number, `it is not well-formed JSON (${why}); send one station a line.`, error);
    }
  }
}
