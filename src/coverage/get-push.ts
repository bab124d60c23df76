/** GET /api/v1/pushes/{pushId}: what became of a push, in rows and in money, as of one instant (COV-0 to COV-4, STA-18). */
import type { RequestHandler } from 'express';
import { funnelOf, placesOf, stateOf } from '../domain/funnel.ts';
import { stationOutcome } from '../domain/station-outcome.ts';
import { partnerOf } from '../http/authenticate.ts';
import { listCompletions } from '../store/completions.ts';
import { countStationTasks, readPlaces } from '../store/coverage.ts';
import type { Sql } from '../store/sql.ts';
import { getOwnPush } from './own-push.ts';

export function getPush(sql: Sql): RequestHandler {
  return async (request, response) => {
    const push = await getOwnPush(sql, partnerOf(request).partnerOrgId, request.params.pushId);
    const { groups, asOf } = await readPlaces(sql, push.pushId);
    // After the places: rows that have ended never stand beside a station that has not.
    const stations = await countStationTasks(sql, push.pushId);
    // Last: whatever has been numbered by then stands beside the state or behind it.
    const completions = await listCompletions(sql, push.pushId);
    const { pushId, traceId, code, counts, amounts, acceptedAt, expiresAt } = push;
    response.json({
      pushId,
      traceId,
      code,
      state: stateOf(groups),
      asOf,
      stationOutcome: stationOutcome(stations),
      counts,
      amounts,
      acceptedAt,
      expiresAt,
      funnel: funnelOf(groups),
      places: placesOf(groups),
      completions,
    });
  };
}
