/** A push's coverage in words: how much of how much, in rows and CNY, and why the rest is not there (COV-0, COV-1). Pure. */
import type { PlaceName } from '../domain/place.ts';
import { countOf, grouped, shanghaiTime, share } from './figures.ts';
import { PLACE_ORDER, PLACE_WORDS } from './place-words.ts';
import type { PlaceSum, PushReport, RowsAndAmount } from './push-report.ts';

/** Rows at one place that have the same to say for themselves. */
export interface PlaceNote {
  readonly place: PlaceName;
  readonly rows: number;
  /** Which rows, if they are few enough to name. */
  readonly where: string;
  /** Why, in the system's own sentence. */
  readonly why: string;
}

const AMOUNT_WIDTH = 12;
const ROWS_WIDTH = 11;

export function coverageText(report: PushReport, notes: readonly PlaceNote[]): string[] {
  const requested = report.funnel.find((step) => step.stage === 'requested') ?? NOTHING;
  const current = report.places.find((sum) => sum.place === 'CURRENT') ?? NOTHING;
  const sums = PLACE_ORDER.flatMap((place) => report.places.filter((sum) => sum.place === place));
  return [
    `as of ${shanghaiTime(report.asOf)} (Shanghai): ${STATE_WORDS[report.state]}`,
    `current: ${share(current, requested)}`,
    ...sums.filter((sum) => sum.rows > 0).flatMap((sum) => [placeLine(sum), ...noteLines(sum, notes)]),
  ];
}

const NOTHING: RowsAndAmount = { rows: 0, amount: '0.00' };

const STATE_WORDS: Readonly<Record<PushReport['state'], string>> = {
  IN_PROGRESS: 'some of it is still under way',
  COMPLETE: 'nothing is under way, and nothing was refused, failed or skipped',
  COMPLETE_WITH_EXCEPTIONS: 'nothing is under way, but something was refused, failed or skipped',
};

function placeLine(sum: PlaceSum): string {
  const rows = `${grouped(sum.rows).padStart(ROWS_WIDTH - ' rows'.length)} ${sum.rows === 1 ? 'row ' : 'rows'}`;
  return `${rows} ${grouped(sum.amount).padStart(AMOUNT_WIDTH)} CNY  ${PLACE_WORDS[sum.place]} (${sum.place})`;
}

function noteLines(sum: PlaceSum, notes: readonly PlaceNote[]): string[] {
  const indent = ' '.repeat(ROWS_WIDTH + AMOUNT_WIDTH + 7);
  return notes
    .filter((note) => note.place === sum.place)
    .map((note) => `${indent}- ${note.where === '' ? countOf(note.rows) : note.where}: ${note.why}`);
}
