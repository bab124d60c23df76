/** An answer with receipts, written as a stream: its head, then page by page (ING-7). */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { Receipt } from '../domain/receipt.ts';

export interface ReceiptsAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly head: object;
  readonly receipts: AsyncIterable<readonly Receipt[]>;
  readonly links: Readonly<Record<string, string>>;
}

/** `{…head, "receipts":[…], "links":{…}}`. A client that goes away meanwhile loses the answer, not the push. */
export async function sendWithReceipts(response: Response, answer: ReceiptsAnswer): Promise<void> {
  response.status(answer.status).set('Content-Type', answer.contentType);
  try {
    await pipeline(Readable.from(bodyText(answer)), response);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

async function* bodyText(answer: ReceiptsAnswer): AsyncGenerator<string> {
  yield `${JSON.stringify(answer.head).slice(0, -1)},"receipts":[`;
  let separator = '';
  for await (const page of answer.receipts) {
    yield separator + page.map((receipt) => JSON.stringify(receipt)).join(',');
    separator = ',';
  }
  yield `],"links":${JSON.stringify(answer.links)}}`;
}

function isGone(error: unknown): boolean {
  const code = (error as { code?: string } | null)?.code;
  return code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ECONNRESET' || code === 'EPIPE';
}
