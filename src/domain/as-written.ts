/** Decimals judged as they were written, and brought to one form, so that equal content is equal text (DEC-1, DEC-17). */

/** No sign, no exponent, no blanks, at most two decimals. */
export const AMOUNT_PATTERN = /^[0-9]{1,16}(\.[0-9]{1,2})?$/;
/** DECIMAL(9,6) in 0…1. */
export const RATIO_PATTERN = /^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$/;
/** DECIMAL(18,6). */
export const PRICE_PATTERN = /^[0-9]{1,12}(\.[0-9]{1,6})?$/;

/** The largest sum that DECIMAL(18,2) holds, in cents. */
export const MONEY_MAX_CENTS = 999_999_999_999_999_999n;

/** `7`, `7.5` and `007.50` with two decimals are all `7.50`. @param text fits one of the patterns above */
export function toDecimals(text: string, decimals: number): string {
  const point = text.indexOf('.');
  const whole = point === -1 ? text : text.slice(0, point);
  const fraction = point === -1 ? '' : text.slice(point + 1);
  if (fraction.length === decimals && (whole[0] !== '0' || whole.length === 1)) return text;
  return `${whole.replace(/^0+(?=\d)/, '')}.${fraction.padEnd(decimals, '0')}`;
}

/** @param text an amount with exactly two decimals, as `toDecimals` gives it */
export function toCents(text: string): bigint {
  return BigInt(text.slice(0, -3) + text.slice(-2));
}

/** @param cents not negative */
export function centsText(cents: bigint): string {
  const digits = cents.toString().padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
