/** The column kinds that the tables share, so that money is money and a month is a month everywhere. */
import { p } from '@mikro-orm/core';

/** A 64-bit id; a decimal string in code and JSON. */
export const id = () => p.bigint('string').unsigned();
/** CNY, two decimals; a decimal string in code. */
export const money = () => p.decimal('string').precision(18).scale(2);
/** What amounts of `money` add up to, over as many bills as there may be. */
export const sumOfMoney = () => p.decimal('string').precision(30).scale(2);
/** `YYYY-MM` in Asia/Shanghai. */
export const month = () => p.string().columnType('char(7)');
/** An instant in UTC, to the millisecond, by the database's clock. */
export const instant = () => p.datetime().columnType('datetime(3)');
export const createdAt = () => instant().defaultRaw('CURRENT_TIMESTAMP(3)');
export const text = (length: number) => p.string().length(length);
/** A small closed set, stored as a number. */
export const code = () => p.tinyint();
export const flag = (fallback: 0 | 1 = 0) => p.tinyint().default(fallback);
export const counter = () => p.integer().default(0);
/** A lower-case hex SHA-256. */
export const digest = () => p.string().columnType('char(64)');
export const json = () => p.json();

/** The five amounts that a bill carries and the difference ledger compares (DEC-1, DIF-7). */
export const billAmounts = () => ({
  settlementAmount: money().nullable(),
  rent: money(),
  preRent: money().nullable(),
  freezeAmount: money().nullable(),
  deductionAmount: money().nullable(),
});

/** What the projection writes on both bills and the difference (ACC-7). */
export const projection = () => ({
  paymentStatus: text(24).default('NOT_VERIFIED'),
  paidAmount: money().default('0.00'),
  currentPayable: money().default('0.00'),
});

/** Totals of an account over its bills (DEC-5). */
export const accountTotals = () => ({
  billCount: counter(),
  totalRent: sumOfMoney().default('0.00'),
  totalPreRent: sumOfMoney().default('0.00'),
  totalFreeze: sumOfMoney().default('0.00'),
  totalDeduction: sumOfMoney().default('0.00'),
  totalPayable: sumOfMoney().default('0.00'),
  totalPaid: sumOfMoney().default('0.00'),
  firstBillMonth: month().nullable(),
  lastBillMonth: month().nullable(),
  currentMonth: month().nullable(),
  currentMonthRent: sumOfMoney().default('0.00'),
});
