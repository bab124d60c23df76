/** The partner API's answers, for its description; a test holds the real answers against them (ING-10). */
import { z } from 'zod';
import { FUNNEL_STAGES, Place, type PlaceName } from '../domain/place.ts';
import { REFUSAL_REASONS } from '../domain/refusal.ts';

const id = z
  .string()
  .regex(/^[1-9][0-9]{0,19}$/)
  .meta({ description: 'A 64-bit id, as a decimal string.' });
const money = z
  .string()
  .regex(/^[0-9]+\.[0-9]{2}$/)
  .meta({ description: 'CNY, two decimals.' });
const instant = z.iso.datetime({ precision: 3 }).meta({ description: 'UTC, by the database’s clock.' });
const count = z.int().min(0);
const traceId = z.string().regex(/^[0-9a-f]{32}$/);
const nullableText = z.string().nullable();
const place = z.enum(Object.keys(Place) as [PlaceName, ...PlaceName[]]);
const stage = z.enum(FUNNEL_STAGES);
const share = { rows: count, amount: money };
const cursor = z
  .string()
  .nullable()
  .meta({ description: 'Send it as `cursor` for the next page; null: this was the last.' });

const counts = z.strictObject({ requested: count, accepted: count, refused: count });
const amounts = z
  .strictObject({ requested: money, accepted: money, refused: money })
  .meta({ description: 'Sums of rent; a rent that is no amount counts 0.' });
const links = z.record(z.string(), z.string());

export const receiptSchema = z.strictObject({
  index: count.meta({ description: 'In request order, dense, from 0.' }),
  partnerStationNo: nullableText,
  billYearMonth: nullableText,
  rowId: nullableText,
  receipt: z.enum(['ACCEPTED', 'REFUSED']),
  reason: z.enum(REFUSAL_REASONS).nullable(),
  pointer: nullableText.meta({ description: 'RFC 6901, into the body that was sent.' }),
  message: nullableText.meta({ description: 'What to change.' }),
  contentHash: z.string().regex(/^[0-9a-f]{64}$/),
});

export const acceptedPushSchema = z.strictObject({
  pushId: id,
  traceId,
  code: z.enum(['ACCEPTED', 'PARTIALLY_ACCEPTED', 'SKIPPED', 'IDEMPOTENCY']),
  identity: z.string(),
  counts,
  amounts,
  ignoredFieldCount: count,
  expiresAt: instant,
  receipts: z.array(receiptSchema),
  links,
});

export const dryRunSchema = z.strictObject({
  traceId,
  code: z.enum(['ACCEPTED', 'PARTIALLY_ACCEPTED', 'REJECTED', 'SKIPPED']),
  dryRun: z.literal(true),
  counts,
  amounts,
  ignoredFieldCount: count,
  receipts: z.array(receiptSchema),
  links,
});

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string().meta({ description: 'Stable, for programs.' }),
    detail: z.string().meta({ description: 'What to change.' }),
    traceId,
  })
  .meta({ description: 'RFC 9457. `REJECTED` also has counts, amounts and receipts.' });

export const statusSchema = z.strictObject({
  status: z.enum(['ok', 'ready', 'not ready']),
  checks: z.record(z.string(), z.enum(['ok', 'unreachable'])).optional(),
});

const funnelStep = z.strictObject({
  stage,
  ...share,
  dropped: z.array(z.strictObject({ reason: z.string(), ...share })),
  pending: z.strictObject(share),
});

export const coverageSchema = z.strictObject({
  pushId: id,
  traceId,
  code: z.string(),
  state: z.enum(['IN_PROGRESS', 'COMPLETE', 'COMPLETE_WITH_EXCEPTIONS']),
  asOf: instant,
  stationOutcome: z.enum(['SUCCESS', 'PARTIAL_SUCCESS', 'FAILED', 'SKIPPED']).nullable(),
  counts,
  amounts,
  acceptedAt: instant,
  expiresAt: instant,
  funnel: z.array(funnelStep),
  places: z.array(z.strictObject({ place, ...share })),
  completions: z.array(
    z.strictObject({
      number: z.int().min(1),
      state: z.enum(['COMPLETE', 'COMPLETE_WITH_EXCEPTIONS']),
      at: instant,
      ...share,
      exceptions: z.strictObject(share),
    }),
  ),
  retiredAt: instant.nullable().meta({
    description:
      'Since then its rows are not listed any more; everything else here is as it was at that instant.',
  }),
});

export const rowTracesSchema = z.strictObject({
  items: z.array(
    z.strictObject({
      index: count,
      rowNo: z.int().min(1),
      partnerStationNo: nullableText,
      billYearMonth: nullableText,
      rowId: nullableText,
      rent: money,
      receipt: z.enum(['ACCEPTED', 'REFUSED']),
      place,
      leftAt: stage.nullable(),
      reason: nullableText,
      pointer: nullableText,
      message: nullableText,
      lastError: z.strictObject({ code: z.string(), message: nullableText }).nullable(),
      billId: id.nullable(),
      diffId: id.nullable(),
      taskCode: nullableText,
      differenceTaskCode: nullableText,
      accountTaskCode: nullableText,
      accountOutcome: nullableText,
      snapshotTaskCode: nullableText,
      snapshotGeneration: z.int().nullable(),
      supersededByPushId: id.nullable(),
      replacedByPushId: id.nullable(),
    }),
  ),
  nextCursor: cursor,
});

export const pushListSchema = z.strictObject({
  items: z.array(
    z.strictObject({
      pushId: id,
      idempotencyKey: z.string(),
      identity: z.string(),
      traceId,
      acceptNo: id.nullable(),
      code: z.string(),
      stationCount: count,
      counts,
      amounts,
      ignoredFieldCount: count,
      acceptedAt: instant,
      expiresAt: instant,
      links,
    }),
  ),
  nextCursor: cursor,
});

const stations = z.strictObject({ stations: count });

export const completenessSchema = z.strictObject({
  month: z.string(),
  asOf: instant,
  expected: stations,
  received: z.strictObject({ stations: count, amount: money }),
  missing: stations,
  items: z.array(
    z.strictObject({
      partnerStationNo: z.string(),
      partnerStationId: z.string(),
      platformStationId: id.nullable(),
      rent: money.nullable(),
      received: z.boolean(),
    }),
  ),
  nextCursor: cursor,
});
