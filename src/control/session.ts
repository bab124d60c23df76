/**
 * A signed-in console session: a cookie that says who and until when, with an HMAC over both. Nothing is kept on the
 * server, so every process that has the admin token knows every session. For the console's pages too.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CookieOptions, Request } from 'express';

export const COOKIE_NAME = 'rooftally_session';
export const SESSION_MS = 12 * 60 * 60 * 1000;
const COOKIE_LENGTH_MAX = 512;

/** `<expires, ms since 1970>.<name, base64url>.<HMAC, base64url>` */
export function sealSession(key: Buffer, name: string, expiresMs: number): string {
  const content = `${expiresMs}.${Buffer.from(name, 'utf8').toString('base64url')}`;
  return `${content}.${sign(key, content).toString('base64url')}`;
}

/** @returns who is signed in; null for what was not sealed with this key, or is over */
export function openSession(key: Buffer, sealed: string, nowMs: number): { name: string } | null {
  if (sealed.length > COOKIE_LENGTH_MAX) return null;
  const [expires, name, signature, ...rest] = sealed.split('.');
  if (expires === undefined || name === undefined || signature === undefined || rest.length > 0) return null;
  const expected = sign(key, `${expires}.${name}`);
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  if (!(Number(expires) > nowMs)) return null;
  return { name: Buffer.from(name, 'base64url').toString('utf8') };
}

export function sessionCookie(request: Request): string | null {
  for (const part of (request.headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2);
    if (name === COOKIE_NAME && value !== undefined && value !== '') return value;
  }
  return null;
}

/** Name and options as the browser is to keep the cookie: for all our pages, out of reach for scripts and other sites. */
export function cookieFor(request: Request): { name: string; options: CookieOptions } {
  const secure = request.secure || request.headers['x-forwarded-proto'] === 'https';
  return { name: COOKIE_NAME, options: { httpOnly: true, sameSite: 'strict', path: '/', secure } };
}

function sign(key: Buffer, content: string): Buffer {
  return createHmac('sha256', key).update(content).digest();
}
