/**
 * The fields of a pushed station and of a pushed bill, as data (DEC-1): what validates them is also what the API's
 * description is made from (ING-10). The order is the order in which a first fault is looked for.
 */
import { z } from 'zod';
import { AMOUNT_PATTERN, PRICE_PATTERN, RATIO_PATTERN, toDecimals } from './as-written.ts';
import { JsonNumber, type RawValue } from './raw-value.ts';
import { lengthOf } from './refusal.ts';

const INT_MAX = 2_147_483_647;

/** A normalised value as it is stored; null where the field is absent. */
export type FieldValue = string | number | null;

export interface FieldSpec {
  /** Judges what `read` made of the raw value. */
  readonly schema: z.ZodType;
  readonly required: boolean;
  /** What an absent field counts as. */
  readonly absent: FieldValue;
  /** Completes the sentence "Send rent as …". */
  readonly hint: string;
  /** From the wire to what the schema judges: number texts become what the field takes them for. */
  readonly read: (raw: RawValue) => unknown;
  /** From a cell of CSV, which is text, to what the same value would be in JSON; what is none is left as it is. */
  readonly cell: (text: string) => RawValue;
  /** From what the schema passed to the one form that is hashed and stored. */
  readonly normalise: (valid: unknown) => FieldValue;
}

const asItIs = (raw: RawValue): unknown => raw;
const decimalText = (raw: RawValue): unknown => (raw instanceof JsonNumber ? raw.text : raw);
const wholeNumber = (raw: RawValue): unknown =>
  raw instanceof JsonNumber && /^[0-9]{1,16}$/.test(raw.text) ? Number(raw.text) : raw;
const asText = (cell: string): RawValue => cell;
const asNumber = (cell: string): RawValue =>
  /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/.test(cell) ? new JsonNumber(cell) : cell;
const asFlag = (cell: string): RawValue => (cell === 'true' ? true : cell === 'false' ? false : cell);
const plain = (valid: unknown): FieldValue => valid as FieldValue;

function text(lengthMax: number): FieldSpec {
  return {
    schema: z
      .string()
      .refine((value) => lengthOf(value) <= lengthMax && value.isWellFormed())
      .meta({ maxLength: lengthMax }),
    required: false,
    absent: null,
    hint: `a string of at most ${lengthMax} characters`,
    read: asItIs,
    cell: asText,
    normalise: plain,
  };
}

function decimal(pattern: RegExp, decimals: number, hint: string): FieldSpec {
  return {
    schema: z
      .string()
      .regex(pattern)
      .meta({ type: ['string', 'number'], description: `${hint}, as written` }),
    required: false,
    absent: null,
    hint,
    read: decimalText,
    cell: asText,
    normalise: (valid) => toDecimals(valid as string, decimals),
  };
}

const amount = () =>
  decimal(
    AMOUNT_PATTERN,
    2,
    'an amount of 0 or more with at most 16 digits and two decimals, without sign, exponent or blanks, such as "120.00"',
  );

function integer(min: number, max: number): FieldSpec {
  return {
    schema: z.int().min(min).max(max),
    required: false,
    absent: null,
    hint: `a whole number from ${min} to ${max}`,
    read: wholeNumber,
    cell: asNumber,
    normalise: plain,
  };
}

/** The column compares as if blanks at the end were not there; a number that has them would be another's (FACTS). */
const stationNo: FieldSpec = {
  schema: z
    .string()
    .refine(
      (value) => value.trim() === value && value !== '' && lengthOf(value) <= 64 && value.isWellFormed(),
    )
    .meta({ minLength: 1, maxLength: 64 }),
  required: true,
  absent: null,
  hint: 'a string of 1 to 64 characters without blanks around it',
  read: asItIs,
  cell: asText,
  normalise: plain,
};

const month: FieldSpec = {
  schema: z.string().regex(/^[0-9]{4}-(0[1-9]|1[0-2])$/),
  required: true,
  absent: null,
  hint: 'a month such as "2026-05" (year, hyphen, two digits)',
  read: asItIs,
  cell: asText,
  normalise: plain,
};

const flag: FieldSpec = {
  schema: z.boolean(),
  required: false,
  absent: 0,
  hint: 'true or false',
  read: asItIs,
  cell: asFlag,
  normalise: (valid) => (valid === true ? 1 : 0),
};

export const STATION_FIELDS = {
  partnerStationNo: stationNo,
  partnerStationId: text(64),
  householdName: text(64),
  rentPayMethod: text(32),
} as const satisfies Record<string, FieldSpec>;

export const BILL_FIELDS = {
  billYearMonth: month,
  settlementAmount: amount(),
  shareRatio: decimal(RATIO_PATTERN, 6, 'a share from 0 to 1 with at most six decimals, such as "0.85"'),
  period: integer(0, INT_MAX),
  sharingBlockCount: integer(0, INT_MAX),
  unitPrice: decimal(PRICE_PATTERN, 6, 'a price of 0 or more with at most six decimals, such as "0.35"'),
  rent: { ...amount(), required: true },
  preRent: amount(),
  freezeAmount: amount(),
  deductionAmount: amount(),
  remark: text(255),
  reason: text(255),
  settlementBatchNo: text(64),
  isSupplement: flag,
  dataVersion: integer(1, Number.MAX_SAFE_INTEGER),
  rowId: text(64),
} as const satisfies Record<string, FieldSpec>;

/** Control totals over all rows sent; `totalAmount` is the sum of `rent` (ING-9). */
export const TOTAL_FIELDS = {
  totalCount: integer(0, INT_MAX),
  totalAmount: amount(),
} as const satisfies Record<string, FieldSpec>;

export type StationField = keyof typeof STATION_FIELDS;
export type BillField = keyof typeof BILL_FIELDS;
export type StationValues = Readonly<Record<StationField, FieldValue>>;
export type BillValues = Readonly<Record<BillField, FieldValue>>;

function objectOf(fields: Record<string, FieldSpec>, more: Record<string, z.ZodType> = {}) {
  const shape = Object.entries(fields).map(([name, spec]) => [
    name,
    spec.required ? spec.schema : spec.schema.nullish(),
  ]);
  return z.strictObject({ ...(Object.fromEntries(shape) as Record<string, z.ZodType>), ...more });
}

const stationSchema = objectOf(STATION_FIELDS, { bills: z.array(objectOf(BILL_FIELDS)) });

/** The body of a push, for the API's description; the endpoint checks the same schemas row by row (ING-7). */
export const pushSchema = z.strictObject({
  stations: z.array(stationSchema),
  totalCount: TOTAL_FIELDS.totalCount.schema.nullish(),
  totalAmount: TOTAL_FIELDS.totalAmount.schema.nullish(),
});

/** NDJSON: the lines. */
export const stationLinesSchema = z.array(stationSchema);

/** CSV: the lines after the header line, by its names. */
export const billLinesSchema = z.array(objectOf({ ...STATION_FIELDS, ...BILL_FIELDS }));
