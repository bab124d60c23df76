/**
 * Against forged requests: a browser sends the session's cookie by itself, so a change that rests on the cookie must
 * prove that it comes from our own pages. Browsers say so in `Sec-Fetch-Site`, older ones in `Origin`; a page of others
 * can forge neither.
 */
import type { Request } from 'express';

export type Provenance = 'ours' | 'foreign' | 'unknown';

export function provenanceOf(request: Request): Provenance {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' ? 'ours' : 'foreign';
  const origin = request.headers.origin;
  if (origin === undefined) return 'unknown';
  return hostOf(origin) === request.headers.host ? 'ours' : 'foreign';
}

function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host;
  } catch {
    return null;
  }
}
