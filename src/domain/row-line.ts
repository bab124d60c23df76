/** A checked bill as one line of text: what the accepting transaction and the receipts need of it again. */
import type { CheckedBill } from './check-row.ts';
import { BILL_FIELDS, type BillField, type BillValues, type FieldValue } from './pushed-fields.ts';
import type { Refusal } from './refusal.ts';

export interface RowLine {
  readonly values: BillValues;
  readonly shownMonth: string | null;
  readonly shownRowId: string | null;
  /** A fault of the bill's own fields. */
  readonly refusal: Refusal | null;
}

const FIELDS = Object.keys(BILL_FIELDS) as BillField[];

export function writeRowLine(bill: CheckedBill): string {
  const { shownMonth, shownRowId, refusal } = bill;
  return `[${bill.valuesJson},${JSON.stringify([shownMonth, shownRowId, refusal])}]`;
}

export function readRowLine(text: string): RowLine {
  const [list, [shownMonth, shownRowId, refusal]] = JSON.parse(text) as [
    FieldValue[],
    [string | null, string | null, Refusal | null],
  ];
  const values = {} as Record<BillField, FieldValue>;
  for (let at = 0; at < FIELDS.length; at++) values[FIELDS[at]!] = list[at] ?? null;
  return { values, shownMonth, shownRowId, refusal };
}
