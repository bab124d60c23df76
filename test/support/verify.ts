/** The rules of inspection, as tests end with them (INV-1). */
import type { RuleResult } from '../../src/domain/inspection.ts';
import { rules } from '../../src/invariants/all.ts';
import { runRules } from '../../src/invariants/run-rules.ts';
import type { Store } from '../../src/store/transaction.ts';

const SHOWN_MAX = 20;

/** Every rule could look and found nothing. @throws Error that names what was found */
export async function assertVerified(store: Store): Promise<void> {
  const faults = (await runRules(store, rules)).flatMap(faultsOf);
  if (faults.length > 0)
    throw new Error(`the database is not as the rules say:\n${faults.slice(0, SHOWN_MAX).join('\n')}`);
}

function faultsOf({ code, outcome, error, findings }: RuleResult): string[] {
  if (outcome === 'BROKEN') return [`${code} is broken: ${error}`];
  return findings.map(
    (finding) => `${code}: ${finding.targetType} ${finding.targetId} ${JSON.stringify(finding.detail)}`,
  );
}
