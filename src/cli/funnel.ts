/** The funnel of pushes as text: a column for each push, a line for each stage of COV-1. Pure. */
import { FUNNEL_STAGES, type FunnelStage } from '../domain/place.ts';
import { grouped } from './figures.ts';
import { type PushReport, rowsThatReached, rowsUnderWay } from './push-report.ts';

/** A push and what it is called on the screen; null while nothing is known of it yet. */
export interface FunnelColumn {
  readonly label: string;
  readonly report: PushReport | null;
}

export const STAGE_TITLES: Readonly<Record<FunnelStage, string>> = {
  requested: 'requested',
  valid: 'valid',
  unlocked: 'unlocked',
  committed: 'committed',
  inDifference: 'in difference',
  paymentEnabled: 'payment-enabled',
  refreshed: 'refreshed',
  snapshotCurrent: 'snapshot current',
};

const TITLE_WIDTH = 17;
const NUMBER_WIDTH = 6;
const BAR_WIDTH_MAX = 12;
/** A shorter bar says nothing. */
const BAR_WIDTH_MIN = 3;
const GAP = 2;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** @param width of the terminal, in characters; where it is narrow the bars go first, then the last columns. */
export function drawFunnel(columns: readonly FunnelColumn[], width: number): string[] {
  const barWidth = barWidthFor(columns.length, width);
  const cellWidth = Math.max(barWidth + NUMBER_WIDTH, NUMBER_WIDTH);
  const fitting = Math.max(1, Math.floor((width - TITLE_WIDTH) / (cellWidth + GAP)));
  const shown = columns.slice(0, fitting);
  const line = (title: string, cells: readonly string[]) =>
    [title.padEnd(TITLE_WIDTH), ...cells.map((cell) => cell.padStart(cellWidth + GAP))].join('').trimEnd();
  return [
    line(
      '',
      shown.map((column) => column.label.slice(0, cellWidth)),
    ),
    ...FUNNEL_STAGES.map((stage) =>
      line(
        STAGE_TITLES[stage],
        shown.map((column) => cell(column.report, stage, barWidth)),
      ),
    ),
    line(
      'still under way',
      shown.map(({ report }) => (report === null ? '' : grouped(rowsUnderWay(report)))),
    ),
  ];
}

/** One line for a log: how far the push has come, in rows. */
export function progressLine(column: FunnelColumn): string {
  const { label, report } = column;
  if (report === null) return `${label}: not sent yet`;
  const reached = FUNNEL_STAGES.map((stage) => `${STAGE_TITLES[stage]} ${rowsThatReached(report, stage)}`);
  return `${label}: ${reached.join(' > ')}; ${rowsUnderWay(report)} under way`;
}

function barWidthFor(columnCount: number, width: number): number {
  const spare = Math.floor((width - TITLE_WIDTH) / Math.max(1, columnCount)) - GAP - NUMBER_WIDTH;
  return spare < BAR_WIDTH_MIN ? 0 : Math.min(BAR_WIDTH_MAX, spare);
}

function cell(report: PushReport | null, stage: FunnelStage, barWidth: number): string {
  if (report === null) return '';
  const rows = rowsThatReached(report, stage);
  const number = grouped(rows).padStart(NUMBER_WIDTH);
  return bar(rows, rowsThatReached(report, 'requested'), barWidth).padEnd(barWidth) + number;
}

/** Filled to the eighth of a character; whatever is not nothing shows. */
export function bar(part: number, whole: number, width: number): string {
  if (whole <= 0 || part <= 0 || width <= 0) return '';
  const eighths = Math.min(width * 8, Math.max(1, Math.floor((part * width * 8) / whole)));
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]!;
}
