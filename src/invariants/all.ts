/** The rules, in the order in which they are told: payment, ledger, read model, engine, coverage. */
import { billWithoutDifference } from './bill-without-difference.ts';
import { coverageConserved } from './coverage-conserved.ts';
import { differenceWithoutTask } from './difference-without-task.ts';
import { failedVersionWithoutRelease } from './failed-version-without-release.ts';
import { guardWithoutStation } from './guard-without-station.ts';
import { ledgerSides } from './ledger-sides.ts';
import { lockWithoutSubmit } from './lock-without-submit.ts';
import { overpaid } from './overpaid.ts';
import { partnerAccountTotals } from './partner-account-totals.ts';
import { placeDoesNotFit } from './place-does-not-fit.ts';
import { platformAccountTotals } from './platform-account-totals.ts';
import { platformBillGivenUp } from './platform-bill-given-up.ts';
import { projectionNotFacts } from './projection-not-facts.ts';
import { projectionTablesDiffer } from './projection-tables-differ.ts';
import { publishedLockReleased } from './published-lock-released.ts';
import { pushTotals } from './push-totals.ts';
import type { InvariantRule } from './rule.ts';
import { runningWithoutSlot } from './running-without-slot.ts';
import { slotWithoutOwner } from './slot-without-owner.ts';
import { snapshotBehind } from './snapshot-behind.ts';
import { submitWithoutTask } from './submit-without-task.ts';
import { summaryTotals } from './summary-totals.ts';
import { taskStuck } from './task-stuck.ts';
import { twoLocksForOneMonth } from './two-locks-for-one-month.ts';

export const rules: readonly InvariantRule[] = [
  lockWithoutSubmit,
  failedVersionWithoutRelease,
  submitWithoutTask,
  twoLocksForOneMonth,
  publishedLockReleased,
  billWithoutDifference,
  differenceWithoutTask,
  ledgerSides,
  platformBillGivenUp,
  partnerAccountTotals,
  platformAccountTotals,
  projectionNotFacts,
  projectionTablesDiffer,
  overpaid,
  snapshotBehind,
  summaryTotals,
  taskStuck,
  slotWithoutOwner,
  runningWithoutSlot,
  guardWithoutStation,
  placeDoesNotFit,
  coverageConserved,
  pushTotals,
];
