/** The answer to a push, written as a stream: its head, then receipts page by page (ING-5, ING-7). */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { PushAmounts, PushCode, PushCounts } from '../domain/push-outcome.ts';
import type { Receipt } from '../domain/receipt.ts';

/** The head of an accepted push's answer; a replay tells `IDEMPOTENCY` instead of the first code (ING-2). */
export interface AcceptedReply {
  readonly pushId: string;
  readonly traceId: string;
  readonly code: PushCode | 'IDEMPOTENCY';
  /** `ORG_key`, for people. */
  readonly identity: string;
  readonly counts: PushCounts;
  readonly amounts: PushAmounts;
  readonly ignoredFieldCount: number;
  /** ISO 8601, UTC: until then a repeat is recognised. */
  readonly expiresAt: string;
}

export function pushLinks(pushId: string): Record<string, string> {
  return { self: `/api/v1/pushes/${pushId}`, bills: `/api/v1/pushes/${pushId}/bills` };
}

/**
 * `{…head, "receipts":[…], "links":{…}}`. A client that goes away meanwhile loses the answer, not the push.
 */
export async function sendWithReceipts(
  response: Response,
  options: {
    readonly status: number;
    readonly contentType: string;
    readonly head: object;
    readonly receipts: AsyncIterable<readonly Receipt[]>;
    readonly links: Record<string, string>;
  },
): Promise<void> {
  response.status(options.status).set('Content-Type', options.contentType);
  const text = bodyText(options.head, options.receipts, options.links);
  try {
    await pipeline(Readable.from(text), response);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

async function* bodyText(
  head: object,
  receipts: AsyncIterable<readonly Receipt[]>,
  links: Record<string, string>,
): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"receipts":[`;
  let separator = '';
  for await (const page of receipts) {
    yield separator + page.map((receipt) => JSON.stringify(receipt)).join(',');
    separator = ',';
  }
  yield `],"links":${JSON.stringify(links)}}`;
}

function isGone(error: unknown): boolean {
  const code = (error as { code?: string } | null)?.code;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
