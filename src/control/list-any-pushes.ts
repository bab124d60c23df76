/** GET /admin/api/v1/pushes: the pushes of all partners, newest first. */
import type { RequestHandler } from 'express';
import { readText } from '../http/query.ts';
import { isoInstant } from '../store/instant.ts';
import { listAnyPushes } from '../store/push-lists.ts';
import type { Sql } from '../store/sql.ts';
import { readId, readOneOf, readPageWish, refuseOtherFilters } from './reply-list.ts';

const CODES = ['ACCEPTED', 'PARTIALLY_ACCEPTED', 'SKIPPED'] as const;

export function listAnyPushesRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['partnerOrgId', 'code', 'idempotencyKey']);
    const filter = {
      partnerOrgId: readId(request, 'partnerOrgId'),
      code: readOneOf(request, 'code', CODES),
      idempotencyKey: readText(request, 'idempotencyKey'),
    };
    const { items, nextCursor } = await listAnyPushes(sql, filter, readPageWish(request));
    response.json({
      items: items.map(({ id: _pushId, ...push }) => ({
        ...push,
        acceptedAt: isoInstant(push.acceptedAt),
        expiresAt: isoInstant(push.expiresAt),
      })),
      nextCursor,
    });
  };
}
