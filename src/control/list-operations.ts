/** GET /admin/api/v1/operations: who changed what, from what to what, and why; newest first. */
import type { RequestHandler } from 'express';
import { readText } from '../http/query.ts';
import { isoInstant } from '../store/instant.ts';
import { listOperations } from '../store/operation-lists.ts';
import type { Sql } from '../store/sql.ts';
import { readPageWish, refuseOtherFilters } from './reply-list.ts';

export function listOperationsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['actor', 'action', 'target']);
    const filter = {
      actor: readText(request, 'actor'),
      action: readText(request, 'action'),
      target: readText(request, 'target'),
    };
    const { items, nextCursor } = await listOperations(sql, filter, readPageWish(request));
    response.json({
      items: items.map((row) => ({ ...row, createTime: isoInstant(row.createTime) })),
      nextCursor,
    });
  };
}
