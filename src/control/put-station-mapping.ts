/**
 * POST /admin/api/v1/station-mappings: says which station of ours a partner's station is. Makes the mapping, or completes
 * one that lacks its platform station; that may also be corrected as long as there are no bills (DEC-23). What failed for
 * want of it is run again by hand.
 */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { FIRST_BILL_MONTH, isMonth } from '../domain/month.ts';
import { Problem } from '../http/problem.ts';
import { lockGuards, partnerStationGuard, platformStationGuard } from '../store/guards.ts';
import { recordOperation } from '../store/operation-audit.ts';
import { findPartner } from '../store/partners.ts';
import {
  hasPartnerBills,
  hasPlatformBills,
  hasPlatformStation,
  insertMappingIfNew,
  lockMapping,
  type MappingFields,
  type MappingRow,
  setPlatformStationIfFree,
} from '../store/station-mapping-changes.ts';
import { NEW_READ_COMMITTED, type Store, type Transaction } from '../store/transaction.ts';
import { operatorOf } from './authenticate.ts';
import { mappingView } from './list-station-mappings.ts';
import { partnerOrgId } from './partner-fields.ts';
import { readBody } from './read-body.ts';
import { noSuchPartner } from './refusals.ts';

const name = (lengthMax: number) => z.string().trim().min(1, 'is blank').max(lengthMax);
const month = z
  .string()
  .refine((text) => isMonth(text) && text >= FIRST_BILL_MONTH, 'must be a month, YYYY-MM');

export const stationMappingBody = z.strictObject({
  partnerOrgId,
  partnerStationNo: name(64),
  platformStationId: partnerOrgId.nullable().optional(),
  // Needed for a new mapping; of one that is there they may be repeated, not changed.
  partnerStationId: name(64).optional(),
  projectCompanyId: partnerOrgId.optional(),
  projectCompanyName: name(120).optional(),
  activeFromMonth: month.optional(),
  activeToMonth: month.nullable().optional(),
});
type Wish = z.infer<typeof stationMappingBody>;

interface Put {
  readonly made: boolean;
  readonly mapping: MappingRow;
}

export function putStationMapping(store: Store): RequestHandler {
  return async (request, response) => {
    const wish = readBody(request, stationMappingBody);
    const actor = operatorOf(request);
    const { made, mapping } = await store.transaction(NEW_READ_COMMITTED, async (tx) => {
      if ((await findPartner(tx, wish.partnerOrgId)) === null) throw noSuchPartner(wish.partnerOrgId);
      // Whatever is written about these stations waits until the mapping is settled (ENG-16); who changes it holds the
      // partner's station, so it says already which station of ours it may be moved away from.
      await lockGuards(tx, [{ key: partnerStationGuard(wish.partnerOrgId, wish.partnerStationNo) }]);
      const before = await lockMapping(tx, wish.partnerOrgId, wish.partnerStationNo);
      await lockGuards(tx, platformGuards([before?.platformStationId, wish.platformStationId]));
      await requirePlatformStation(tx, wish);
      return before === null ? make(tx, wish, actor) : complete(tx, before, wish, actor);
    });
    response.status(made ? 201 : 200).json(mappingView(mapping));
  };
}

function platformGuards(ids: readonly (string | null | undefined)[]) {
  return ids.flatMap((id) => (id === null || id === undefined ? [] : [{ key: platformStationGuard(id) }]));
}

async function requirePlatformStation(tx: Transaction, { platformStationId }: Wish): Promise<void> {
  if (platformStationId === null || platformStationId === undefined) return;
  if (await hasPlatformStation(tx, platformStationId)) return;
  throw new Problem(
    422,
    'NO_SUCH_PLATFORM_STATION',
    `We have no station ${platformStationId} for this to be mapped to.`,
  );
}

async function make(tx: Transaction, wish: Wish, actor: string): Promise<Put> {
  const mapping = newMapping(wish);
  if (!(await insertMappingIfNew(tx, mapping))) throw taken(wish);
  await audit(tx, actor, 'STATION_MAPPING_CREATE', null, mapping);
  return { made: true, mapping: (await lockMapping(tx, wish.partnerOrgId, wish.partnerStationNo))! };
}

function newMapping(wish: Wish): MappingFields {
  const { partnerStationId, projectCompanyId, projectCompanyName, activeFromMonth } = wish;
  const missing = Object.entries({ partnerStationId, projectCompanyId, projectCompanyName, activeFromMonth })
    .filter(([, value]) => value === undefined)
    .map(([field]) => field);
  if (missing.length > 0) {
    const detail = `This station is not mapped yet; a new mapping also needs ${missing.join(', ')}.`;
    throw new Problem(400, 'MALFORMED_BODY', detail, { members: { missing } });
  }
  const activeToMonth = wish.activeToMonth ?? null;
  if (activeToMonth !== null && activeToMonth < activeFromMonth!) {
    throw new Problem(400, 'MALFORMED_BODY', 'activeToMonth is before activeFromMonth.');
  }
  return {
    partnerOrgId: wish.partnerOrgId,
    partnerStationNo: wish.partnerStationNo,
    partnerStationId: partnerStationId!,
    platformStationId: wish.platformStationId ?? null,
    projectCompanyId: projectCompanyId!,
    projectCompanyName: projectCompanyName!,
    activeFromMonth: activeFromMonth!,
    activeToMonth,
  };
}

async function complete(tx: Transaction, before: MappingRow, wish: Wish, actor: string): Promise<Put> {
  const changed = changedFields(before, wish);
  if (changed.length > 0) {
    const detail = `This station is mapped already, with another ${changed.join(', ')}. Only a platform station is added here.`;
    throw new Problem(409, 'MAPPING_EXISTS', detail, { members: { fields: changed } });
  }
  const platformStationId = wish.platformStationId ?? null;
  if (platformStationId === null || platformStationId === before.platformStationId) {
    return { made: false, mapping: before };
  }
  await refuseMove(tx, before);
  if (!(await setPlatformStationIfFree(tx, before.id, platformStationId))) throw taken(wish);
  await audit(tx, actor, 'STATION_MAPPING_CHANGE', before, { ...before, platformStationId });
  return { made: false, mapping: (await lockMapping(tx, wish.partnerOrgId, wish.partnerStationNo))! };
}

function changedFields(before: MappingRow, wish: Wish): string[] {
  return Object.entries(wish)
    .filter(([field]) => field !== 'platformStationId')
    .filter(([field, value]) => value !== before[field as keyof MappingFields])
    .map(([field]) => field);
}

/** DEC-23: bills of either side were compared and paid under the station that it was mapped to. */
async function refuseMove(tx: Transaction, before: MappingRow): Promise<void> {
  const { partnerOrgId, partnerStationNo, platformStationId } = before;
  if (platformStationId === null) return;
  const anyBill =
    (await hasPartnerBills(tx, partnerOrgId, partnerStationNo)) ||
    (await hasPlatformBills(tx, partnerOrgId, platformStationId));
  if (!anyBill) return;
  const detail = `There are bills of this station under platform station ${before.platformStationId}; it cannot be mapped to another.`;
  throw new Problem(409, 'MAPPING_HAS_BILLS', detail);
}

function taken(wish: Wish): Problem {
  const detail = `Another station of this partner is mapped to platform station ${wish.platformStationId}.`;
  return new Problem(409, 'PLATFORM_STATION_TAKEN', detail);
}

async function audit(
  tx: Transaction,
  actor: string,
  action: string,
  before: MappingFields | null,
  after: MappingFields,
): Promise<void> {
  const target = `${after.partnerOrgId}:${after.partnerStationNo}`;
  await recordOperation(tx, { actor, action, target, before, after, reason: null });
}
