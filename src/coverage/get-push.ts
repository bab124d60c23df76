/** GET /api/v1/pushes/{pushId}: what became of a push, in rows and in money, as of one instant (COV-0 to COV-4, STA-18). */
import type { RequestHandler } from 'express';
import { funnelOf, placesOf, stateOf } from '../domain/funnel.ts';
import { stationOutcome } from '../domain/station-outcome.ts';
import { partnerOf } from '../http/authenticate.ts';
import { refuseOtherParameters } from '../http/query.ts';
import { listCompletions } from '../store/completions.ts';
import { countStationTasks, readPlaces } from '../store/coverage.ts';
import { findKeptCoverage, type KeptCoverage } from '../store/kept-coverage.ts';
import type { Sql } from '../store/sql.ts';
import { getOwnPush } from './own-push.ts';

export function getPush(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherParameters(request, []);
    const push = await getOwnPush(sql, partnerOf(request).partnerOrgId, request.params.pushId);
    const { groups, asOf, stations, retiredAt } = await readCoverage(sql, push.pushId);
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
      retiredAt,
    });
  };
}

/** As it is now; of a push whose rows are being removed or are gone, as it was when that began (RET-1). */
async function readCoverage(
  sql: Sql,
  pushId: string,
): Promise<Omit<KeptCoverage, 'retiredAt'> & { readonly retiredAt: string | null }> {
  const places = await readPlaces(sql, pushId);
  // After the places: rows that have ended never stand beside a station that has not.
  const stations = await countStationTasks(sql, pushId);
  return (await findKeptCoverage(sql, pushId)) ?? { ...places, stations, retiredAt: null };
}
