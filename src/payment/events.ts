/** What comes in from outside about an order, by event id: a repeat gets its first answer (PAY-6, DEC-26). */
import { createHash } from 'node:crypto';
import { assert } from '../errors.ts';
import { type EventRow, insertEventsIfNew, listEvents } from '../store/payment-facts.ts';
import { lockOrder, lockVersion, type OrderRow, type VersionRow } from '../store/payment-orders.ts';
import type { Transaction } from '../store/transaction.ts';
import { noSuchOrder, refuse } from './refusals.ts';

export interface IncomingEvent {
  readonly eventId: string;
  readonly kind: EventRow['kind'];
  readonly paymentOrderId: string;
  /** All that makes it this event and no other. */
  readonly content: unknown;
}

/** The answers that were given already. @throws Problem 409 `EVENT_CONFLICT` where an id came with other content */
export async function findAnswers(
  tx: Transaction,
  events: readonly IncomingEvent[],
): Promise<Map<string, Record<string, unknown>>> {
  const known = await listEvents(
    tx,
    events.map((event) => event.eventId),
  );
  const answers = new Map<string, Record<string, unknown>>();
  for (const event of events) {
    const found = known.get(event.eventId);
    if (found === undefined) continue;
    const same =
      found.kind === event.kind &&
      found.paymentOrderId === event.paymentOrderId &&
      found.contentDigest === digestOf(event);
    if (!same) throw eventConflict(event.eventId);
    answers.set(event.eventId, found.answer);
  }
  return answers;
}

export async function keepAnswers(
  tx: Transaction,
  events: readonly IncomingEvent[],
  answers: ReadonlyMap<string, Record<string, unknown>>,
): Promise<void> {
  const rows = events.map((event): EventRow => {
    const { eventId, kind, paymentOrderId } = event;
    const answer = answers.get(eventId);
    assert(answer !== undefined, `event ${eventId} has no answer`);
    return { eventId, kind, paymentOrderId, contentDigest: digestOf(event), answer };
  });
  if (!(await insertEventsIfNew(tx, rows))) throw eventConflict(rows.map((row) => row.eventId).join(', '));
}

function eventConflict(eventId: string) {
  return refuse('EVENT_CONFLICT', `Event ${eventId} came in before, with another content.`, { eventId });
}

function digestOf({ content }: IncomingEvent): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

/** The version before its order (ENG-17). @throws Problem 404 */
export async function lockNamedVersion(
  tx: Transaction,
  orderId: string,
  versionId: string,
): Promise<{ version: VersionRow; order: OrderRow }> {
  const version = await lockVersion(tx, versionId);
  const order = await lockOrder(tx, orderId);
  if (order === null) throw noSuchOrder(orderId);
  if (version === null || version.paymentOrderId !== orderId)
    throw refuse('OTHER_VERSION', `Order ${orderId} has no version ${versionId}.`);
  return { version, order };
}

/** A result names the version that is in force now (DEC-13, DEC-26). @throws Problem 409 */
export function requireInForce(version: VersionRow, order: OrderRow): void {
  if (order.orderStatus !== 'OPEN')
    throw refuse('ORDER_NOT_OPEN', `Order ${order.id} is ${order.orderStatus}.`);
  if (version.versionBuildStatus !== 'PUBLISHED' || order.currentPublishVersion !== version.targetDataVersion)
    throw refuse('OTHER_VERSION', `Version ${version.id} is not the published one of order ${order.id}.`);
}
