/**
 * The body's SHA-256 against the `Content-Digest` that was sent with it (RFC 9530): added up while the body comes in, over
 * the bytes as they were sent, and compared at the last one, before anything is looked at (ING-10).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { contentDigestField, readContentDigest } from '../domain/body-digest.ts';
import { Problem } from '../http/problem.ts';
import { signatureBaseOf } from '../http/verify-signature.ts';

export interface BodyDigest {
  add(bytes: Uint8Array): void;
  /** @throws Problem 400, or 401 where the digest was signed, if the body is not what was announced */
  compare(): void;
}

/** @throws Problem 400 for a `Content-Digest` that cannot be read; one without SHA-256 is passed over */
export function bodyDigestOf(request: Request): BodyDigest {
  const field = request.headersDistinct['content-digest']?.join(', ');
  const sent = field === undefined ? null : readContentDigest(field);
  if (sent === 'malformed') throw unreadable();
  const hash = createHash('sha256');
  return {
    add: (bytes) => {
      if (sent !== null) hash.update(bytes);
    },
    compare: () => {
      if (sent === null) return;
      const received = hash.digest();
      if (!timingSafeEqual(received, sent)) throw differs(request, sent, received);
    },
  };
}

function unreadable(): Problem {
  const detail = 'Content-Digest must look like sha-256=:<base64 of 32 bytes>: (RFC 9530).';
  return new Problem(400, 'CONTENT_DIGEST_MALFORMED', detail);
}

function differs(request: Request, sent: Uint8Array, received: Uint8Array): Problem {
  const signatureBase = signatureBaseOf(request);
  const contentDigest = { sent: contentDigestField(sent), received: contentDigestField(received) };
  return new Problem(
    signatureBase === null ? 400 : 401,
    'CONTENT_DIGEST_MISMATCH',
    'The body that arrived is not the one whose Content-Digest was sent; the digest is that of the bytes as they are sent, after any content coding.',
    { members: { contentDigest, ...(signatureBase === null ? {} : { signatureBase }) } },
  );
}
