/** GET /admin/api/v1/differences, /platform-bills, /accounts, /snapshots and /locks: what the chain wrote, our own bills, and what payment holds. */
import type { Request, RequestHandler } from 'express';
import type { DifferenceStatus } from '../domain/difference.ts';
import type { PaymentStatus } from '../domain/projection.ts';
import { readText } from '../http/query.ts';
import { isoInstant } from '../store/instant.ts';
import {
  listAccounts,
  listBillLocks,
  listDifferences,
  listPlatformBills,
  listSnapshots,
  type StationMonthFilter,
} from '../store/ledger-lists.ts';
import type { Sql } from '../store/sql.ts';
import { readId, readMonth, readOneOf, readPageWish, refuseOtherFilters } from './reply-list.ts';
import { instantOrNull } from './task-view.ts';

const DIFFERENCE_STATUSES: readonly DifferenceStatus[] = [
  'MATCHED',
  'MISMATCHED',
  'PARTNER_ONLY',
  'PLATFORM_ONLY',
];
const LOCK_STATUSES = ['RESERVED', 'ACTIVE', 'RELEASED'];
const PAYMENT_STATUSES: readonly PaymentStatus[] = [
  'NOT_APPLICABLE',
  'UNQUALIFIED',
  'NOT_VERIFIED',
  'PAID',
  'PARTIALLY_PAID',
  'SETTLED',
  'PAYABLE',
];

export function listDifferencesRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    const filter = readStationMonth(request, 'status', DIFFERENCE_STATUSES);
    const { items, nextCursor } = await listDifferences(sql, filter, readPageWish(request));
    response.json({
      items: items.map((row) => ({ ...row, bothSidesReady: row.bothSidesReady === 1, ...times(row) })),
      nextCursor,
    });
  };
}

/** Those that are not deleted; all of them with `deleted=all`. */
export function listPlatformBillsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    refuseOtherFilters(request, ['partnerOrgId', 'platformStationId', 'billYearMonth', 'deleted']);
    const filter = {
      partnerOrgId: readId(request, 'partnerOrgId'),
      platformStationId: readId(request, 'platformStationId'),
      month: readMonth(request, 'billYearMonth'),
      deletedToo: readOneOf(request, 'deleted', ['none', 'all'] as const) === 'all',
    };
    const { items, nextCursor } = await listPlatformBills(sql, filter, readPageWish(request));
    response.json({
      items: items.map((row) => ({ ...row, deleted: row.deleted === 1, ...times(row) })),
      nextCursor,
    });
  };
}

export function listSnapshotsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    const filter = readStationMonth(request, 'paymentStatus', PAYMENT_STATUSES);
    const { items, nextCursor } = await listSnapshots(sql, filter, readPageWish(request));
    response.json({
      items: items.map((row) => ({ ...row, snapshotTime: instantOrNull(row.snapshotTime), ...times(row) })),
      nextCursor,
    });
  };
}

export function listLocksRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    const filter = readStationMonth(request, 'lockStatus', LOCK_STATUSES);
    const { items, nextCursor } = await listBillLocks(sql, filter, readPageWish(request));
    response.json({
      items: items.map((row) => ({
        ...row,
        releaseTime: instantOrNull(row.releaseTime),
        createTime: isoInstant(row.createTime),
      })),
      nextCursor,
    });
  };
}

/** The partner side unless `side=PLATFORM`. */
export function listAccountsRoute(sql: Sql): RequestHandler {
  return async (request, response) => {
    const side = readOneOf(request, 'side', ['PARTNER', 'PLATFORM'] as const) ?? 'PARTNER';
    const station = side === 'PARTNER' ? 'partnerStationNo' : 'platformStationId';
    refuseOtherFilters(request, ['side', 'partnerOrgId', station]);
    const filter = {
      side,
      partnerOrgId: readId(request, 'partnerOrgId'),
      partnerStationNo: readText(request, 'partnerStationNo'),
      platformStationId: readId(request, 'platformStationId'),
    };
    const { items, nextCursor } = await listAccounts(sql, filter, readPageWish(request));
    response.json({ items: items.map((row) => ({ ...row, ...times(row) })), nextCursor });
  };
}

function readStationMonth(
  request: Request,
  statusName: string,
  statuses: readonly string[],
): StationMonthFilter {
  refuseOtherFilters(request, ['partnerOrgId', 'platformStationId', 'billYearMonth', statusName]);
  return {
    partnerOrgId: readId(request, 'partnerOrgId'),
    platformStationId: readId(request, 'platformStationId'),
    month: readMonth(request, 'billYearMonth'),
    status: readOneOf(request, statusName, statuses),
  };
}

function times(row: { createTime: string; updateTime: string }) {
  return { createTime: isoInstant(row.createTime), updateTime: isoInstant(row.updateTime) };
}
