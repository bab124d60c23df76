import { walk } from '../store/invariants/key-ranges.ts';
import { listSummariesOff } from '../store/invariants/summaries-off.ts';
import { PROJECT_COMPANIES } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const summaryTotals: InvariantRule = {
  code: 'SUMMARY_TOTALS',
  targetType: 'PROJECT_MONTH',
  title: 'A monthly summary is the sum of its differences',
  looksFor: 'Months of a project company whose counts or rents are not those of their differences (DIF-9)',
  why: 'The summary is moved by what changes and never recomputed, so an error in it stays',
  whatToDo:
    'Report it as a fault of ours, with the months; the finding says by how much each column is short',
  find: (reader) => walk(reader, PROJECT_COMPANIES, listSummariesOff),
};
