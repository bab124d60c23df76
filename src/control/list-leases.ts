/** GET /admin/api/v1/leases: who is at work on which station at this moment (ENG-18). */
import type { RequestHandler } from 'express';
import { Problem } from '../http/problem.ts';
import type { LeaseOptions } from '../leases/lease.ts';
import { listLeases } from '../leases/list-leases.ts';
import { refuseOtherFilters } from './reply-list.ts';

export function listLeasesRoute(leases: Pick<LeaseOptions, 'redis' | 'prefix'>): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, []);
    const items = await listLeases(leases).catch((cause) => {
      const detail = 'Redis does not answer; the guards, which are the right, are under /guards.';
      throw new Problem(503, 'REDIS_AWAY', detail, { cause });
    });
    response.json({ items, nextCursor: null });
  };
}
