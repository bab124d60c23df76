/** Who is asking: the credential fixes the partner; nothing in a request names another (ING-1). */
import { createHash } from 'node:crypto';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { type CredentialOwner, findCredentialOwner } from '../store/credentials.ts';
import type { Sql } from '../store/sql.ts';
import { Problem } from './problem.ts';

const owners = new WeakMap<Request, CredentialOwner>();

/** @throws (into the chain) Problem 401 */
export function authenticatePartner(sql: Sql): RequestHandler {
  return async (request: Request, _response: Response, next: NextFunction) => {
    const key = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined) throw unauthorised('Send your key in an Authorization header: Bearer <key>.');
    owners.set(request, await findOwner(sql, createHash('sha256').update(key).digest('hex')));
    next();
  };
}

/**
 * Asked again where much time may have passed since the head came: a key that was revoked while a body was sent lets
 * nothing in, and what is said of the partner is what it is now. @throws Problem 401
 */
export async function stillPartnerOf(sql: Sql, request: Request): Promise<CredentialOwner> {
  const owner = await findOwner(sql, partnerOf(request).keyHash);
  owners.set(request, owner);
  return owner;
}

async function findOwner(sql: Sql, keyHash: string): Promise<CredentialOwner> {
  const owner = await findCredentialOwner(sql, keyHash);
  if (owner === null) throw unauthorised('This key is not known, or no longer; send one that is live.');
  return owner;
}

/** The partner of a request that has passed `authenticatePartner`. */
export function partnerOf(request: Request): CredentialOwner {
  const owner = owners.get(request);
  if (owner === undefined) throw new Error('Broken assumption: the route is not behind authentication');
  return owner;
}

function unauthorised(detail: string): Problem {
  return new Problem(401, 'UNAUTHENTICATED', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
