/**
 * Signed requests (ING-10): HTTP Message Signatures (RFC 9421) in one profile, hmac-sha256 over method, path, query,
 * time, nonce and the body's `Content-Digest`. Here is what is signed and how it is read; who may sign with what, and
 * whether time and nonce still hold, is asked by whoever has a clock and a database.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import {
  type Dictionary,
  type InnerList,
  isInnerList,
  type Parameters,
  parseDictionary,
  serializeDictionary,
  serializeInnerList,
  serializeString,
} from 'structured-headers';
import { readContentDigest } from './body-digest.ts';

/** Every signature covers these. */
const ALWAYS_COVERED = ['@method', '@path', '@query'] as const;
const DIGEST = 'content-digest';
/** May be covered as well: each changes what a request means. */
const MAY_BE_COVERED = ['content-type', 'content-encoding', 'idempotency-key', 'x-request-id'];
const ALGORITHM = 'hmac-sha256';
const NONCE = /^[\x21-\x7e]{8,64}$/;
const LABEL = 'sig1';

/** A request as far as signatures look at it. */
export interface SignedMessage {
  readonly method: string;
  /** Path and query as they stand in the request line: `/api/v1/pushes?dryRun=true`. */
  readonly target: string;
  /** By its lower-case name, several lines joined with a comma; null where there is none. */
  readonly field: (name: string) => string | null;
}

export interface SignatureRequirements {
  /** The id of the credential that the request came with. */
  readonly keyId: string;
  /** The request has a body that counts. */
  readonly withBody: boolean;
}

/** One signature, read but not verified. */
export interface GivenSignature {
  /** Seconds since 1970, by the signer's clock. */
  readonly createdS: number;
  readonly expiresS: number | null;
  readonly nonce: string;
  /** The text under the HMAC, line by line. */
  readonly base: string;
  readonly mac: Uint8Array;
}

export type SignatureFault = 'SIGNATURE_MALFORMED' | 'SIGNATURE_KEY_UNKNOWN' | 'SIGNATURE_INCOMPLETE';

export type ReadSignature =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'refused'; readonly code: SignatureFault; readonly detail: string }
  | { readonly kind: 'signed'; readonly signature: GivenSignature };

class Refusal extends Error {
  readonly code: SignatureFault;
  constructor(code: SignatureFault, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** What the message's `Signature-Input` and `Signature` say about the key that it came with; others' signatures are passed over. */
export function readSignature(message: SignedMessage, needs: SignatureRequirements): ReadSignature {
  const input = message.field('signature-input');
  const value = message.field('signature');
  if (input === null && value === null) return { kind: 'unsigned' };
  try {
    if (input === null || value === null)
      throw malformed('Send both Signature-Input and Signature; one of them is missing.');
    return { kind: 'signed', signature: readOwn(message, needs, input, value) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { kind: 'refused', code: error.code, detail: error.message };
  }
}

function readOwn(
  message: SignedMessage,
  needs: SignatureRequirements,
  input: string,
  value: string,
): GivenSignature {
  const [label, list] = ownInput(readDictionary('Signature-Input', input), needs.keyId);
  const member = readDictionary('Signature', value).get(label);
  if (member === undefined || isInnerList(member) || !(member[0] instanceof ArrayBuffer))
    throw malformed(`Signature has no byte sequence (:base64:) under the label ${label}.`);
  const parameters = readParameters(list[1]);
  const base = signatureBase(message, coveredBy(list, message, needs), serializeInnerList(list));
  return { ...parameters, base, mac: new Uint8Array(member[0]) };
}

function readDictionary(name: string, field: string): Dictionary {
  try {
    return parseDictionary(field);
  } catch (error) {
    throw malformed(`${name} is no structured field dictionary (RFC 9651): ${(error as Error).message}`);
  }
}

function ownInput(inputs: Dictionary, keyId: string): [label: string, list: InnerList] {
  const own: [string, InnerList][] = [];
  for (const [label, member] of inputs) {
    if (!isInnerList(member)) throw malformed(`Signature-Input has no list in brackets under ${label}.`);
    if (member[1].get('keyid') === keyId) own.push([label, member]);
  }
  if (own.length > 1) throw malformed(`Send one signature with keyid "${keyId}", not ${own.length}.`);
  if (own[0] !== undefined) return own[0];
  const detail = `The key in Authorization has the id ${keyId}; no signature here has keyid="${keyId}".`;
  throw new Refusal('SIGNATURE_KEY_UNKNOWN', detail);
}

function readParameters(parameters: Parameters): Pick<GivenSignature, 'createdS' | 'expiresS' | 'nonce'> {
  const { created, expires, nonce, alg } = Object.fromEntries(parameters);
  if (alg !== undefined && alg !== ALGORITHM)
    throw malformed(`Sign with alg="${ALGORITHM}", or leave alg out.`);
  if (!isInstant(created))
    throw malformed('The parameter created is missing: a whole number of seconds since 1970.');
  if (expires !== undefined && !isInstant(expires))
    throw malformed('The parameter expires must be a whole number of seconds since 1970, or left out.');
  if (typeof nonce !== 'string' || !NONCE.test(nonce))
    throw malformed(
      'The parameter nonce is missing: a string of 8 to 64 visible characters, never used before.',
    );
  return { createdS: created, expiresS: expires ?? null, nonce };
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** The components in the order in which they were signed. */
function coveredBy(list: InnerList, message: SignedMessage, needs: SignatureRequirements): string[] {
  const names = list[0].map(([name, parameters]) => {
    if (typeof name !== 'string' || parameters.size > 0)
      throw malformed('A component is a name in quotes, without parameters.');
    return name;
  });
  if (new Set(names).size < names.length) throw malformed('A component is covered twice.');
  const wanted = needs.withBody ? [...ALWAYS_COVERED, DIGEST] : ALWAYS_COVERED;
  const missing = wanted.filter((name) => !names.includes(name));
  if (missing.length > 0) throw incomplete(`The signature does not cover ${missing.join(', ')}.`);
  const known: readonly string[] = [...ALWAYS_COVERED, DIGEST, ...MAY_BE_COVERED];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw malformed(`Cover only ${known.join(', ')}; not ${unknown.slice(0, 60)}.`);
  const absent = names.find((name) => !name.startsWith('@') && message.field(name) === null);
  if (absent !== undefined) throw incomplete(`The signature covers ${absent}, which was not sent.`);
  if (names.includes(DIGEST) && !(readContentDigest(message.field(DIGEST)!) instanceof Uint8Array))
    throw incomplete('Content-Digest has no sha-256=:base64: of 32 bytes (RFC 9530).');
  return names;
}

/** RFC 9421, 2.5: one line a component, and last what Signature-Input says. */
function signatureBase(message: SignedMessage, covered: readonly string[], parameters: string): string {
  const lines = covered.map((name) => `${serializeString(name)}: ${componentOf(message, name)}`);
  return [...lines, `"@signature-params": ${parameters}`].join('\n');
}

function componentOf(message: SignedMessage, name: string): string {
  const queryAt = message.target.indexOf('?');
  switch (name) {
    case '@method':
      return message.method;
    case '@path':
      return queryAt < 0 ? message.target : message.target.slice(0, queryAt);
    case '@query':
      return queryAt < 0 ? '?' : message.target.slice(queryAt);
    default:
      return message.field(name)!;
  }
}

/** In a time that does not depend on how much of it fits. */
export function isSignedWith(secret: Uint8Array | KeyObject, signature: GivenSignature): boolean {
  const own = macOf(secret, signature.base);
  return own.length === signature.mac.length && timingSafeEqual(own, signature.mac);
}

function macOf(secret: Uint8Array | KeyObject, base: string): Buffer {
  return createHmac('sha256', secret).update(base, 'latin1').digest();
}

export interface Signer {
  readonly keyId: string;
  readonly secret: Uint8Array;
  readonly createdS: number;
  readonly nonce: string;
}

/** The headers to send with `message`; covers every field of it that may be covered. */
export function signRequest(
  message: SignedMessage,
  signer: Signer,
): { readonly 'signature-input': string; readonly signature: string } {
  const covered = [DIGEST, ...MAY_BE_COVERED].filter((name) => message.field(name) !== null);
  const names = [...ALWAYS_COVERED, ...covered];
  const { keyId: keyid, createdS: created, nonce } = signer;
  const list: InnerList = [
    names.map((name) => [name, new Map()]),
    new Map(Object.entries({ created, nonce, keyid, alg: ALGORITHM })),
  ];
  const mac = macOf(signer.secret, signatureBase(message, names, serializeInnerList(list)));
  return {
    'signature-input': serializeDictionary({ [LABEL]: list }),
    signature: serializeDictionary({ [LABEL]: [mac, new Map()] }),
  };
}

/** What a refused sender is told to sign (`Accept-Signature`, RFC 9421, 5.1). */
export function acceptedSignature(needs: SignatureRequirements): string {
  const names = needs.withBody ? [...ALWAYS_COVERED, DIGEST] : ALWAYS_COVERED;
  const parameters = new Map<string, string | boolean>([
    ['created', true],
    ['nonce', true],
    ['keyid', needs.keyId],
    ['alg', ALGORITHM],
  ]);
  return serializeDictionary({ [LABEL]: [names.map((name) => [name, new Map()]), parameters] });
}

function malformed(detail: string): Refusal {
  return new Refusal('SIGNATURE_MALFORMED', detail);
}

function incomplete(detail: string): Refusal {
  return new Refusal('SIGNATURE_INCOMPLETE', detail);
}
