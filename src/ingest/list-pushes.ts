/** GET /api/v1/pushes: a partner's own pushes, newest first, also by identity, for who never got the answer (ING-2). */
import type { RequestHandler } from 'express';
import { shownIdentity } from '../domain/request-identity.ts';
import { partnerOf } from '../http/authenticate.ts';
import { malformed, readLimit, readText, refuseOtherParameters } from '../http/query.ts';
import { listPushes } from '../store/pushes.ts';
import type { Sql } from '../store/sql.ts';
import { pushLinks } from './push-reply.ts';

const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 200;

export function listOwnPushes(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherParameters(request, ['idempotencyKey', 'cursor', 'limit']);
    const partner = partnerOf(request);
    const cursor = readText(request, 'cursor');
    if (cursor !== null && !/^[0-9]{1,20}$/.test(cursor)) throw malformed('cursor', 'as an answer gave it');
    const limit = readLimit(request, PAGE_SIZE, PAGE_SIZE_MAX);
    const pushes = await listPushes(sql, partner.partnerOrgId, {
      idempotencyKey: readText(request, 'idempotencyKey'),
      beforePushId: cursor,
      limit,
    });
    response.json({
      items: pushes.map((push) => ({
        ...push,
        identity: shownIdentity(partner.orgCode, push.idempotencyKey),
        links: pushLinks(push.pushId),
      })),
      nextCursor: pushes.length === limit ? pushes.at(-1)!.pushId : null,
    });
  };
}
