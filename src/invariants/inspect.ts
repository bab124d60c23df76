/**
 * An inspection: every rule is run and what it found is written down, by run and rule (INV-1). It reads, measures and
 * reports; it repairs nothing and changes no run's result. Looking takes many short statements; writing down what was
 * found is one transaction at the end, so a run that died in between has no end and no results.
 */
import type { InspectionTrigger, RuleResult } from '../domain/inspection.ts';
import { beginInspection, keepResults, removeOldInspections } from '../store/inspections.ts';
import { NEW_READ_COMMITTED, type Store } from '../store/transaction.ts';
import type { InvariantRule } from './rule.ts';
import { runRules } from './run-rules.ts';

/** Some ten days of one every ten minutes. */
const RUNS_KEPT = 1_500;

export interface Inspection {
  readonly runId: string;
  readonly results: readonly RuleResult[];
}

export async function inspect(
  store: Store,
  rules: readonly InvariantRule[],
  options: { readonly trigger: InspectionTrigger; readonly signal?: AbortSignal },
): Promise<Inspection> {
  const runId = await beginInspection(store, options.trigger);
  const results = await runRules(
    store,
    rules,
    options.signal === undefined ? {} : { signal: options.signal },
  );
  await store.transaction(NEW_READ_COMMITTED, (tx) => keepResults(tx, runId, results));
  await removeOldInspections(store, RUNS_KEPT);
  return { runId, results };
}
