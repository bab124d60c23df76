/**
 * Who is asking: the bearer of the admin token, or a signed-in console session. Without a configured token nobody is let
 * in: a control plane that is open because somebody forgot a setting would be worse than none.
 */
import type { Request, RequestHandler } from 'express';
import { Problem } from '../http/problem.ts';
import type { AdminToken } from './admin-token.ts';
import { provenanceOf } from './same-origin.ts';
import { openSession, sessionCookie } from './session.ts';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const operators = new WeakMap<object, string>();

/** @throws (into the chain) Problem 403 where no token is configured */
export function refuseWithoutToken(token: AdminToken | null): RequestHandler {
  return (_request, _response, next) => {
    if (token !== null) return next();
    const detail =
      'No admin token is configured. Set ROOFTALLY_ADMIN_TOKEN (at least 16 characters) and restart.';
    throw new Problem(403, 'CONTROL_PLANE_CLOSED', detail, {
      members: { variable: 'ROOFTALLY_ADMIN_TOKEN' },
    });
  };
}

/** @throws (into the chain) Problem 401, or 403 for a change that another site's page may have caused */
export function authenticateOperator(token: AdminToken): RequestHandler {
  return (request, _response, next) => {
    operators.set(request, bearer(token, request) ?? signedIn(token, request));
    next();
  };
}

/** As the operation audit names it. Only behind `authenticateOperator`. */
export function operatorOf(request: object): string {
  const operator = operators.get(request);
  if (operator === undefined) throw new Error('Broken assumption: the route is not behind authentication');
  return operator;
}

/** Whether a browser that asks for a page is signed in; for pages that send it to the sign-in instead of refusing. */
export function findSignedIn(token: AdminToken, request: Request): string | null {
  const sealed = sessionCookie(request);
  if (sealed === null) return null;
  const session = openSession(token.sessionKey, sealed, Date.now());
  if (session === null) return null;
  return sessionOperator(session.name);
}

/** @param name as typed at the sign-in; may be empty */
export function sessionOperator(name: string): string {
  return name === '' ? 'console' : `console:${name}`;
}

function bearer(token: AdminToken, request: Request): string | null {
  const { authorization } = request.headers;
  if (authorization === undefined) return null;
  const given = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1];
  if (given !== undefined && token.matches(given)) return 'admin-token';
  throw unauthenticated('This is not the admin token.');
}

function signedIn(token: AdminToken, request: Request): string {
  const operator = findSignedIn(token, request);
  if (operator === null) {
    throw unauthenticated('Send Authorization: Bearer <admin token>, or sign in at /admin/login.');
  }
  if (!SAFE_METHODS.has(request.method) && provenanceOf(request) !== 'ours') {
    const detail =
      'A change by a signed-in browser must come from our own pages; a program sends the admin token as bearer.';
    throw new Problem(403, 'FOREIGN_ORIGIN', detail);
  }
  return operator;
}

function unauthenticated(detail: string): Problem {
  return new Problem(401, 'UNAUTHENTICATED', detail, { headers: { 'WWW-Authenticate': 'Bearer' } });
}
