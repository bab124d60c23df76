/** Each request has a trace id: the sender's (W3C `traceparent`) or a fresh one; it is in logs, problems and a header. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;
const NO_TRACE = '0'.repeat(32);

const traceIds = new WeakMap<IncomingMessage, string>();

export function traceIdOf(request: IncomingMessage): string {
  const known = traceIds.get(request);
  if (known !== undefined) return known;
  const sent = TRACEPARENT.exec(String(request.headers.traceparent ?? ''))?.[1];
  const traceId = sent !== undefined && sent !== NO_TRACE ? sent : randomBytes(16).toString('hex');
  traceIds.set(request, traceId);
  return traceId;
}
