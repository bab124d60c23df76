/** GET /api/v1/pushes/{pushId}/bills?place=&cursor=&limit=: each row can be followed (COV-3); pages by key, in row order. */
import type { RequestHandler } from 'express';
import { Place } from '../domain/place.ts';
import { traceOf } from '../domain/row-trace.ts';
import { partnerOf } from '../http/authenticate.ts';
import { Problem } from '../http/problem.ts';
import { malformed, readLimit, readText, refuseOtherParameters } from '../http/query.ts';
import { findKeptCoverage } from '../store/kept-coverage.ts';
import { listTracedRows } from '../store/row-traces.ts';
import type { Sql } from '../store/sql.ts';
import { getOwnPush } from './own-push.ts';

const PAGE_SIZE = 100;
const PAGE_SIZE_MAX = 500;

export function listBills(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherParameters(request, ['place', 'cursor', 'limit']);
    const place = readPlace(readText(request, 'place'));
    const afterRowNo = readCursor(readText(request, 'cursor'));
    const limit = readLimit(request, PAGE_SIZE, PAGE_SIZE_MAX);
    const push = await getOwnPush(sql, partnerOf(request).partnerOrgId, request.params.pushId);
    const rows = await listTracedRows(sql, push.pushId, { place, afterRowNo, limit });
    // After the rows: a page that lacks some is not given.
    await refuseIfRetired(sql, push.pushId);
    response.json({
      items: rows.map(traceOf),
      nextCursor: rows.length === limit ? String(rows.at(-1)!.rowNo) : null,
    });
  };
}

/** @throws Problem 410 */
async function refuseIfRetired(sql: Sql, pushId: string): Promise<void> {
  const kept = await findKeptCoverage(sql, pushId);
  if (kept === null) return;
  throw new Problem(
    410,
    'PUSH_RETIRED',
    `The rows of this push were removed after its identity had expired (${kept.retiredAt}). What they had come to stands in GET /api/v1/pushes/${pushId}.`,
  );
}

function readPlace(text: string | null): number | null {
  if (text === null) return null;
  if (!Object.hasOwn(Place, text)) throw malformed('place', `as one of ${Object.keys(Place).join(', ')}`);
  return Place[text as keyof typeof Place];
}

function readCursor(text: string | null): number {
  if (text === null) return 0;
  if (!/^[0-9]{1,9}$/.test(text)) throw malformed('cursor', 'as the page before gave it');
  return Number(text);
}
