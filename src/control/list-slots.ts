/** GET /admin/api/v1/slots: who may work for whom at which stage, and until when (ENG-5). */
import type { Request, RequestHandler } from 'express';
import { malformed, readFlag, readLimit, readText } from '../http/query.ts';
import { listSlotsAfter } from '../store/slot-lists.ts';
import type { SlotKey, SlotView } from '../store/slots.ts';
import type { Sql } from '../store/sql.ts';
import { ROUTED_STAGES } from './refusals.ts';
import { isId, readId, readOneOf, refuseOtherFilters } from './reply-list.ts';
import { instantOrNull } from './task-view.ts';

const PAGE_SIZE = 100;
const PAGE_SIZE_MAX = 1_000;

export function listSlotsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['stage', 'partnerOrgId', 'held']);
    const limit = readLimit(request, PAGE_SIZE, PAGE_SIZE_MAX);
    const filter = {
      stage: readOneOf(request, 'stage', ROUTED_STAGES),
      partnerOrgId: readId(request, 'partnerOrgId'),
      held: readFlag(request, 'held', false),
    };
    const slots = await listSlotsAfter(sql, filter, { after: readCursor(request), limit: limit + 1 });
    const shown = slots.slice(0, limit);
    response.json({
      items: shown.map(slotView),
      nextCursor: slots.length > limit ? cursorOf(shown.at(-1)!) : null,
    });
  };
}

function slotView(slot: SlotView) {
  const state = slot.holder === null ? 'FREE' : slot.expired ? 'EXPIRED' : 'HELD';
  return {
    stage: slot.stage,
    partnerOrgId: slot.partnerOrgId,
    slotNo: slot.slotNo,
    state,
    retired: slot.retired === 1,
    holder: slot.holder,
    fence: slot.fence,
    leaseEnd: instantOrNull(slot.leaseEnd),
    takenAt: instantOrNull(slot.takenAt),
    taskIds: slot.taskIds ?? [],
  };
}

/** `bill-station:7:2`: after that slot. */
function cursorOf(slot: SlotKey): string {
  return `${slot.stage}:${slot.partnerOrgId}:${slot.slotNo}`;
}

function readCursor(request: Request): SlotKey | null {
  const cursor = readText(request, 'cursor');
  if (cursor === null) return null;
  const [stageText, partnerOrgId, slotNo, ...rest] = cursor.split(':');
  const stage = ROUTED_STAGES.find((name) => name === stageText);
  const isWhole = partnerOrgId !== undefined && isId(partnerOrgId) && /^[0-9]{1,6}$/.test(slotNo ?? '');
  if (stage === undefined || !isWhole || rest.length > 0) throw malformed('cursor', 'as an answer gave it');
  return { stage, partnerOrgId, slotNo: Number(slotNo) };
}
