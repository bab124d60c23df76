/** Signs requests as a partner whose key asks for it (ING-10), with the same code that verifies them. */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { contentDigestField } from '../domain/body-digest.ts';
import { signRequest } from '../domain/request-signature.ts';
import { Failure } from '../errors.ts';

export interface Outgoing {
  readonly method: string;
  readonly url: string;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Blob;
}

export class RequestSigner {
  readonly #keyId: string;
  readonly #secret: Buffer;

  constructor(keyId: string, secret: Buffer) {
    this.#keyId = keyId;
    this.#secret = secret;
  }

  /** The headers of `request` with `content-digest`, `signature-input` and `signature`. */
  async sign({ method, url, headers, body }: Outgoing): Promise<Record<string, string>> {
    const { pathname, search } = new URL(url);
    const digest = body === undefined ? {} : { 'content-digest': contentDigestField(await sha256(body)) };
    const all: Record<string, string> = { ...headers, ...digest };
    const signature = signRequest(
      { method, target: pathname + search, field: (name) => all[name] ?? null },
      {
        keyId: this.#keyId,
        secret: this.#secret,
        createdS: Math.floor(Date.now() / 1000),
        nonce: randomUUID(),
      },
    );
    return { ...all, ...signature };
  }
}

/** A key with its signing secret, as the answer had it that it was made with. */
export interface CredentialFile {
  readonly key: string | undefined;
  readonly signer: RequestSigner;
}

/** @param file that answer, as JSON: a secret on the command line is seen by everybody on the machine @throws Failure */
export function readCredentialFile(file: string): CredentialFile {
  const { id, key, signingSecret } = parse(file);
  if (typeof id !== 'string' || typeof signingSecret !== 'string')
    throw new Failure(
      'CREDENTIAL_FILE',
      `${file}: has no "id" and "signingSecret", as the key's answer had them`,
    );
  return {
    key: typeof key === 'string' ? key : undefined,
    signer: new RequestSigner(id, Buffer.from(signingSecret, 'base64')),
  };
}

function parse(file: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new Failure('CREDENTIAL_FILE', `${file}: cannot be read as JSON`, { cause: error });
  }
}

async function sha256(body: string | Blob): Promise<Buffer> {
  const hash = createHash('sha256');
  if (typeof body === 'string') hash.update(body);
  else for await (const chunk of body.stream()) hash.update(chunk);
  return hash.digest();
}
