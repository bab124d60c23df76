/** Signs requests with somebody else's implementation of RFC 9421, so that ours is held against the standard, not itself. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { httpbis } from 'http-message-signatures';

export const COMPONENTS = ['@method', '@path', '@query', 'content-digest'];

export interface SigningKey {
  readonly keyId: string;
  /** As the partner got it: base64. */
  readonly secret: string;
}

/** What deviates from a good signature. */
export interface Deviation {
  readonly components?: readonly string[];
  readonly params?: readonly string[];
  readonly created?: Date;
  readonly expires?: Date;
  readonly nonce?: string;
  readonly alg?: string;
  readonly digest?: string | null;
}

export function digestOf(body: string | Uint8Array): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

/** @returns the headers of `message` with digest and signature */
export async function signedHeaders(
  key: SigningKey,
  message: { method: string; url: string; headers: Record<string, string>; body?: string | Uint8Array },
  deviation: Deviation = {},
): Promise<Record<string, string>> {
  const { method, url, body } = message;
  const digest = deviation.digest === undefined && body !== undefined ? digestOf(body) : deviation.digest;
  const headers = { ...message.headers, ...(digest == null ? {} : { 'content-digest': digest }) };
  const fields =
    deviation.components ?? COMPONENTS.filter((name) => name !== 'content-digest' || body !== undefined);
  const signed = await httpbis.signMessage(
    {
      name: 'partner',
      key: {
        id: key.keyId,
        alg: deviation.alg ?? 'hmac-sha256',
        sign: async (data) => createHmac('sha256', Buffer.from(key.secret, 'base64')).update(data).digest(),
      },
      fields: [...fields],
      params: [...(deviation.params ?? ['created', 'nonce', 'keyid', 'alg'])],
      paramValues: {
        created: deviation.created ?? new Date(),
        nonce: deviation.nonce ?? randomUUID(),
        ...(deviation.expires === undefined ? {} : { expires: deviation.expires }),
      },
    },
    { method, url, headers },
  );
  return signed.headers as Record<string, string>;
}
