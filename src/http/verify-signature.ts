/**
 * Signed requests of partners (ING-10): a signature that is sent must hold, and where the key says so one must be sent.
 * Judged from the head alone, by the database's clock; the body's digest, which is signed, is compared at the body's last
 * byte. The nonce is spent, committed, as soon as the signature holds: whatever dies afterwards, the same request never
 * comes in a second time.
 */
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import {
  acceptedSignature,
  type GivenSignature,
  isSignedWith,
  readSignature,
  type SignatureRequirements,
  type SignedMessage,
} from '../domain/request-signature.ts';
import type { CredentialOwner } from '../store/credentials.ts';
import { spendNonce } from '../store/request-nonces.ts';
import type { Sql } from '../store/sql.ts';
import { partnerOf } from './authenticate.ts';
import { Problem } from './problem.ts';
import { openSecret, type SecretKey } from './secret-box.ts';

export interface SigningSettings {
  /** Of the configuration; the first seals, all open. */
  readonly secretKeys: readonly SecretKey[];
  /** How far from the database's clock a signature may have been made, either way. */
  readonly windowMs: number;
}

const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const bases = new WeakMap<Request, string>();

/** What was signed, line by line; null for a request without a signature. */
export function signatureBaseOf(request: Request): string | null {
  return bases.get(request) ?? null;
}

/** Comes after `authenticatePartner`. @throws (into the chain) Problem 401 */
export function verifySignature(sql: Sql, settings: SigningSettings): RequestHandler {
  return async (request: Request, _response: Response, next: NextFunction) => {
    const owner = partnerOf(request);
    const needs = { keyId: owner.credentialId, withBody: !BODYLESS.has(request.method) };
    const read = readSignature(messageOf(request), needs);
    if (read.kind === 'refused') throw refused(read.code, read.detail, needs);
    if (read.kind === 'unsigned') {
      if (owner.signing === 'REQUIRED') throw unsigned(needs);
    } else {
      await verify(sql, settings, owner, needs, read.signature);
      bases.set(request, read.signature.base);
    }
    next();
  };
}

async function verify(
  sql: Sql,
  settings: SigningSettings,
  owner: CredentialOwner,
  needs: SignatureRequirements,
  signature: GivenSignature,
): Promise<void> {
  if (owner.signingSecret === null) throw refused('SIGNATURE_NOT_SET_UP', NOT_SET_UP, needs);
  const secret = openSecret(settings.secretKeys, owner.signingSecret, owner.keyHash);
  const shown = { signatureBase: signature.base };
  if (!isSignedWith(secret, signature)) throw refused('SIGNATURE_MISMATCH', MISMATCH, needs, shown);
  const late = () => outOfTime(owner.nowMs, settings.windowMs, signature, needs);
  if (!isInTime(owner.nowMs, settings.windowMs, signature)) throw late();
  const spent = await spendNonce(sql, {
    credentialId: owner.credentialId,
    nonce: signature.nonce,
    untilMs: signature.createdS * 1000 + settings.windowMs,
  });
  if (spent === 'late') throw late();
  if (spent === 'used') throw refused('NONCE_USED', USED, needs, shown);
}

function isInTime(nowMs: number, windowMs: number, { createdS, expiresS }: GivenSignature): boolean {
  if (Math.abs(nowMs - createdS * 1000) > windowMs) return false;
  return expiresS === null || nowMs <= expiresS * 1000;
}

/** Every value of a field, where the framework would show the first. */
function messageOf(request: Request): SignedMessage {
  return {
    method: request.method,
    target: request.originalUrl,
    field: (name) => request.headersDistinct[name]?.join(', ') ?? null,
  };
}

const NOT_SET_UP =
  'This key has no signing secret, so its signature cannot be verified. Send the request unsigned, or with a key that has one.';
const MISMATCH =
  'The signature is not the HMAC-SHA-256 of signatureBase under the signing secret of this key. Compare signatureBase with the text that you signed, line by line; if they are equal, the secret is another.';
const USED =
  'This nonce was sent before with this key. Sign every request, also one that is sent again, with a new nonce.';

function unsigned(needs: SignatureRequirements): Problem {
  return refused(
    'SIGNATURE_REQUIRED',
    'This key takes signed requests only: send Signature-Input and Signature as Accept-Signature shows (RFC 9421).',
    needs,
  );
}

function outOfTime(
  nowMs: number,
  windowMs: number,
  signature: GivenSignature,
  needs: SignatureRequirements,
): Problem {
  const members = {
    signatureBase: signature.base,
    serverTime: new Date(nowMs).toISOString(),
    windowMs,
  };
  const detail = `The signature must have been created within ${windowMs} ms of serverTime, and not be expired. Set your clock, and sign each request when you send it.`;
  return refused('SIGNATURE_OUT_OF_TIME', detail, needs, members);
}

function refused(
  code: string,
  detail: string,
  needs: SignatureRequirements,
  members: Readonly<Record<string, unknown>> = {},
): Problem {
  return new Problem(401, code, detail, {
    members,
    headers: { 'WWW-Authenticate': 'Bearer', 'Accept-Signature': acceptedSignature(needs) },
  });
}
