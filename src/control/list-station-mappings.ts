/** GET /admin/api/v1/station-mappings: which station of a partner is which of ours (DEC-3). */
import type { RequestHandler } from 'express';
import { readFlag, readText } from '../http/query.ts';
import { isoInstant } from '../store/instant.ts';
import type { Sql } from '../store/sql.ts';
import { listMappings, type MappingRow } from '../store/station-mapping-changes.ts';
import { readId, readPageWish, refuseOtherFilters } from './reply-list.ts';

export function listStationMappingsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['partnerOrgId', 'partnerStationNo', 'platformStationId', 'incomplete']);
    const filter = {
      partnerOrgId: readId(request, 'partnerOrgId'),
      partnerStationNo: readText(request, 'partnerStationNo'),
      platformStationId: readId(request, 'platformStationId'),
      incomplete: readFlag(request, 'incomplete', false),
    };
    const { items, nextCursor } = await listMappings(sql, filter, readPageWish(request));
    response.json({ items: items.map(mappingView), nextCursor });
  };
}

export function mappingView(mapping: MappingRow) {
  return { ...mapping, updateTime: isoInstant(mapping.updateTime) };
}
