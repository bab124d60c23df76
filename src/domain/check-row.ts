/** What can be said of a pushed station or bill by itself, before anything is looked up (DEC-1, DEC-2, STA-11). */
import { checkFields, FieldRules } from './check-fields.ts';
import { FIRST_BILL_MONTH } from './month.ts';
import {
  BILL_FIELDS,
  type BillField,
  type BillValues,
  type FieldValue,
  STATION_FIELDS,
  type StationField,
  type StationValues,
} from './pushed-fields.ts';
import { JsonNumber, type RawFields, type RawValue } from './raw-value.ts';
import { lengthOf, pointerTo, type Refusal, refusal } from './refusal.ts';

const STATION_RULES = new FieldRules<StationField>('a station', STATION_FIELDS);
const BILL_RULES = new FieldRules<BillField>('a bill', BILL_FIELDS);

export interface RowRules {
  /** Unknown fields refuse their rows; else they are ignored and counted (DEC-1). */
  readonly strict: boolean;
  /** The partner's rows must carry a dataVersion (STA-11). */
  readonly versioned: boolean;
  /** `YYYY-MM` in Shanghai, by the database's clock: no later month can be billed (DEC-2). */
  readonly currentMonth: string;
}

export interface CheckedStation {
  readonly values: StationValues;
  /** The number as it came, as far as a receipt can repeat it. */
  readonly shownStationNo: string | null;
  readonly refusal: Refusal | null;
  readonly ignoredCount: number;
  readonly content: string;
}

export interface CheckedBill {
  readonly values: BillValues;
  /** The same as a JSON array, in the order of the fields. */
  readonly valuesJson: string;
  readonly shownMonth: string | null;
  readonly shownRowId: string | null;
  /** False where the rent is missing or no amount: it counts 0 everywhere and is listed (DEC-17). */
  readonly rentReadable: boolean;
  readonly refusal: Refusal | null;
  readonly ignoredCount: number;
  readonly content: string;
}

/** @param raw the entry's fields without its bills; @param pointer the entry's place in the body */
export function checkStation(raw: RawFields, pointer: string, rules: RowRules): CheckedStation {
  const checked = checkFields(raw, pointer, STATION_RULES, rules.strict);
  return { ...checked, shownStationNo: shown(raw.get('partnerStationNo'), 64) };
}

/** @param raw null where the bill is no object at all */
export function checkBill(raw: RawFields | null, pointer: string, rules: RowRules): CheckedBill {
  if (raw === null) return notAnObject(pointer);
  const checked = checkFields(raw, pointer, BILL_RULES, rules.strict);
  return {
    ...checked,
    shownMonth: shown(raw.get('billYearMonth'), 16),
    shownRowId: shown(raw.get('rowId'), 64),
    rentReadable: checked.values.rent !== null,
    refusal:
      checked.refusal ??
      monthRefusal(checked.values, pointer, rules) ??
      versionRefusal(checked.values, pointer, rules),
  };
}

function monthRefusal(values: BillValues, pointer: string, rules: RowRules): Refusal | null {
  const month = values.billYearMonth as string;
  if (month >= FIRST_BILL_MONTH && month <= rules.currentMonth) return null;
  return refusal(
    'INVALID_FIELD',
    pointerTo(pointer, 'billYearMonth'),
    `Send billYearMonth as a month from ${FIRST_BILL_MONTH} to ${rules.currentMonth}, the current month in Shanghai; it was "${month}".`,
  );
}

function versionRefusal(values: BillValues, pointer: string, rules: RowRules): Refusal | null {
  if (!rules.versioned || values.dataVersion !== null) return null;
  return refusal(
    'INVALID_FIELD',
    pointerTo(pointer, 'dataVersion'),
    `Add dataVersion, ${BILL_FIELDS.dataVersion.hint}: you are set up as a partner whose bills carry their own version.`,
  );
}

const NO_VALUES = Object.fromEntries(
  Object.entries(BILL_FIELDS).map(([name, spec]) => [name, spec.absent]),
) as Record<BillField, FieldValue>;

function notAnObject(pointer: string): CheckedBill {
  return {
    values: NO_VALUES,
    valuesJson: JSON.stringify(Object.values(NO_VALUES)),
    shownMonth: null,
    shownRowId: null,
    rentReadable: false,
    refusal: refusal('INVALID_FIELD', pointer, 'Send each bill as an object with its fields.'),
    ignoredCount: 0,
    content: 'not an object',
  };
}

/** A refused value is repeated in its receipt if it fits there, so that the partner finds its row again. */
function shown(raw: RawValue | undefined, lengthMax: number): string | null {
  const text = raw instanceof JsonNumber ? raw.text : raw;
  return typeof text === 'string' && text.isWellFormed() && lengthOf(text) <= lengthMax ? text : null;
}
