/** GET /admin/api/v1/partners/{partnerOrgId}/credentials: which keys a partner has and had; never the keys themselves. */
import type { RequestHandler } from 'express';
import { isoInstant } from '../store/instant.ts';
import { listPartnerKeys, type PartnerKeyRow } from '../store/partner-keys.ts';
import { findPartner } from '../store/partners.ts';
import type { Sql } from '../store/sql.ts';
import { noSuchPartner, readPathId } from './refusals.ts';
import { instantOrNull } from './task-view.ts';

/** Two are live; the rest is history. */
const SHOWN_MAX = 200;

export function listCredentials(sql: Sql): RequestHandler<{ partnerOrgId: string }> {
  return async (request, response) => {
    const partnerOrgId = readPathId(request.params.partnerOrgId, noSuchPartner);
    if ((await findPartner(sql, partnerOrgId)) === null) throw noSuchPartner(partnerOrgId);
    const keys = await listPartnerKeys(sql, partnerOrgId, SHOWN_MAX);
    response.json({ items: keys.map(credentialView), nextCursor: null });
  };
}

export function credentialView(key: PartnerKeyRow) {
  return {
    id: key.id,
    label: key.label,
    live: key.live,
    signing: key.signing,
    createTime: isoInstant(key.createTime),
    revokedAt: instantOrNull(key.revokedAt),
  };
}
