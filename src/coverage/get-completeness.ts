/** GET /api/v1/completeness?month=: the stations that should have sent bills of a month against those that did (COV-5). */
import type { Request, RequestHandler } from 'express';
import { isMonth } from '../domain/month.ts';
import { partnerOf } from '../http/authenticate.ts';
import { malformed, readLimit, readText, refuseOtherParameters } from '../http/query.ts';
import { listExpectedStations, readCompleteness } from '../store/completeness.ts';
import type { Sql } from '../store/sql.ts';

const PAGE_SIZE = 100;
const PAGE_SIZE_MAX = 1_000;

/** `?show=`: the missing ones unless said otherwise. */
const SHOWN: Readonly<Record<string, boolean | null>> = { missing: false, received: true, all: null };

export function getCompleteness(sql: Sql): RequestHandler {
  return async (request, response) => {
    const { partnerOrgId } = partnerOf(request);
    refuseOtherParameters(request, ['month', 'show', 'cursor', 'limit']);
    const month = readMonth(request);
    const received = readShown(request);
    const limit = readLimit(request, PAGE_SIZE, PAGE_SIZE_MAX);
    const afterStationNo = readText(request, 'cursor') ?? '';
    const sums = await readCompleteness(sql, partnerOrgId, month);
    const items = await listExpectedStations(sql, partnerOrgId, month, { received, afterStationNo, limit });
    response.json({
      month,
      asOf: sums.asOf,
      expected: { stations: sums.expectedStations },
      received: { stations: sums.receivedStations, amount: sums.receivedAmount },
      missing: { stations: sums.expectedStations - sums.receivedStations },
      items,
      nextCursor: items.length === limit ? items.at(-1)!.partnerStationNo : null,
    });
  };
}

function readMonth(request: Request): string {
  const month = readText(request, 'month');
  if (month === null || !isMonth(month)) throw malformed('month', 'as a month such as 2026-05');
  return month;
}

function readShown(request: Request): boolean | null {
  const shown = readText(request, 'show') ?? 'missing';
  if (!Object.hasOwn(SHOWN, shown)) throw malformed('show', `as one of ${Object.keys(SHOWN).join(', ')}`);
  return SHOWN[shown] ?? null;
}
