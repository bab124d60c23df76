/** GET /admin/api/v1/guards: the rows that serialise what is written about a station, with the last fence (ENG-16, ENG-18). */
import type { Request, RequestHandler } from 'express';
import { malformed, readLimit, readText } from '../http/query.ts';
import { type GuardView, listGuardsAfter } from '../store/guard-lists.ts';
import { type GuardKey, guardOfText, guardText, kindOf } from '../store/guards.ts';
import type { Sql } from '../store/sql.ts';
import { readId, readOneOf, refuseOtherFilters } from './reply-list.ts';

const PAGE_SIZE = 100;
const PAGE_SIZE_MAX = 1_000;
const KINDS = ['PARTNER_STATION', 'PLATFORM_STATION'] as const;

export function listGuardsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['kind', 'partnerOrgId', 'platformStationId']);
    const limit = readLimit(request, PAGE_SIZE, PAGE_SIZE_MAX);
    const kind = readOneOf(request, 'kind', KINDS);
    const filter = {
      kind: kind === null ? null : kindOf(kind),
      partnerOrgId: readId(request, 'partnerOrgId'),
      platformStationId: readId(request, 'platformStationId'),
    };
    const guards = await listGuardsAfter(sql, filter, { after: readCursor(request), limit: limit + 1 });
    const shown = guards.slice(0, limit);
    response.json({
      items: shown.map(guardView),
      nextCursor: guards.length > limit ? guardText(shown.at(-1)!) : null,
    });
  };
}

function guardView(guard: GuardView) {
  const isPlatform = guard.kind === kindOf('PLATFORM_STATION');
  return {
    name: guardText(guard),
    kind: isPlatform ? 'PLATFORM_STATION' : 'PARTNER_STATION',
    partnerOrgId: isPlatform ? null : guard.partnerOrgId,
    platformStationId: isPlatform ? guard.platformStationId : null,
    partnerStationNo: isPlatform ? null : guard.partnerStationNo,
    fence: guard.fence,
  };
}

function readCursor(request: Request): GuardKey | null {
  const cursor = readText(request, 'cursor');
  if (cursor === null) return null;
  const key = guardOfText(cursor);
  if (key === null) throw malformed('cursor', 'as an answer gave it');
  return key;
}
