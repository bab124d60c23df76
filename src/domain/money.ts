/** Money is decimal, two places, as a string outside of sums (DEC-1). Never a binary float. */
import { Decimal as DecimalBase } from 'decimal.js';

/** Enough digits for any sum of DECIMAL(18,2) values that a month of a country could bring. */
const Decimal = DecimalBase.clone({ precision: 40 });
export type Amount = DecimalBase;

/** Missing counts 0 (DEC-1, DEC-6). */
export function amount(text: string | null | undefined): Amount {
  return new Decimal(text ?? '0');
}

/** As the database and JSON have it: two decimals, no exponent. */
export function moneyText(value: Amount): string {
  return value.toFixed(2);
}

export function sumOf(texts: Iterable<string | null | undefined>): Amount {
  let total: Amount = new Decimal(0);
  for (const text of texts) total = total.plus(amount(text));
  return total;
}

export function maxOfZeroAnd(value: Amount): Amount {
  return value.isNegative() ? new Decimal(0) : value;
}
