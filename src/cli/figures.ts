/** How figures are written for people: grouped digits, two decimals as they came, Shanghai time. */
import type { RowsAndAmount } from './push-report.ts';

export function grouped(digits: string | number): string {
  const [whole = '', fraction] = String(digits).split('.');
  const groups = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
}

export function countOf(rows: number): string {
  return `${grouped(rows)} ${rows === 1 ? 'row' : 'rows'}`;
}

/** "11,988 of 12,000 rows, 1,438,560.00 of 1,440,000.00 CNY" (COV-0). */
export function share(part: RowsAndAmount, whole: RowsAndAmount): string {
  return `${grouped(part.rows)} of ${countOf(whole.rows)}, ${grouped(part.amount)} of ${grouped(whole.amount)} CNY`;
}

const SHANGHAI = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Asia/Shanghai',
  dateStyle: 'short',
  timeStyle: 'medium',
});

/** "2026-11-30 18:42:07" */
export function shanghaiTime(instant: string): string {
  return SHANGHAI.format(new Date(instant));
}
