/**
 * Secrets that must be read again (a signing secret: the server computes the same HMAC), kept encrypted: AES-256-GCM under
 * a named key of the configuration, bound to the row that they belong to. A key that is named is never guessed, so several
 * can be in use while one replaces another.
 */
import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { Failure } from '../errors.ts';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface SecretKey {
  readonly name: string;
  /** 32 bytes. */
  readonly key: KeyObject;
}

/** @param keys the first seals @param context what the secret belongs to; it can be opened with nothing else */
export function sealSecret(
  keys: readonly [SecretKey, ...SecretKey[]],
  secret: Uint8Array,
  context: string,
): string {
  const [{ name, key }] = keys;
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  return [VERSION, name, sealed.toString('base64')].join(':');
}

/** @throws Failure `SECRET_KEY_MISSING` where the key that sealed it is configured no more; Error where it is not what was sealed */
export function openSecret(keys: readonly SecretKey[], sealed: string, context: string): Buffer {
  const [version, name, text] = sealed.split(':');
  const found = keys.find((key) => key.name === name);
  if (version !== VERSION || text === undefined || found === undefined)
    throw new Failure(
      'SECRET_KEY_MISSING',
      `A secret was sealed with the key "${name}", which the configuration does not have (ROOFTALLY_SECRET_KEYS)`,
      { reach: 'platform' },
    );
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv(ALGORITHM, found.key, bytes.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
}
