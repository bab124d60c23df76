/** GET /admin/api/v1/partners and /partners/{partnerOrgId}. */
import type { RequestHandler } from 'express';
import { findPartner, listPartners } from '../store/partners.ts';
import type { Sql } from '../store/sql.ts';
import { partnerView } from './partner-view.ts';
import { noSuchPartner, readPathId } from './refusals.ts';
import { readPageWish, refuseOtherFilters } from './reply-list.ts';

/** By id, ascending: a partner's place in the list is where one looks for it. */
export function listPartnersRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, []);
    const { beforeId: afterId, limit } = readPageWish(request);
    const partners = await listPartners(sql, { afterId, limit: limit + 1 });
    const items = partners.slice(0, limit).map(partnerView);
    response.json({
      items,
      nextCursor: partners.length > limit ? items.at(-1)!.partnerOrgId : null,
    });
  };
}

export function showPartner(sql: Sql): RequestHandler<{ partnerOrgId: string }> {
  return async (request, response) => {
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    const partner = await findPartner(sql, partnerOrgId);
    if (partner === null) throw noSuchPartner(partnerOrgId);
    response.json(partnerView(partner));
  };
}
