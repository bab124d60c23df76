/** `rooftally verify`: whether the database is as the rules of inspection say. It reads only, and ends with 0 or 1. */
import { Command } from 'commander';
import { givenServers } from '../../config/local-config.ts';
import { isClean, type RuleResult, type RuleText } from '../domain/inspection.ts';
import { Failure } from '../errors.ts';
import { rules } from '../invariants/all.ts';
import { runRules } from '../invariants/run-rules.ts';
import { withStore } from './database.ts';
import { findDemoState } from './demo/state-file.ts';
import { grouped } from './figures.ts';
import { table } from './table.ts';

/** Findings of a rule that are written out; `--json` has more. */
const FINDINGS_TOLD_MAX = 5;

interface VerifyOptions {
  readonly json?: boolean;
}

export function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'Check what must always hold in the database in DATABASE_URL, else in the demo that is running here; ends with 1 if anything was found or could not be checked',
    )
    .option('--json', 'results for programs')
    .action(async ({ json }: VerifyOptions) => {
      const results = await look();
      const lines = json === true ? [JSON.stringify(jsonOf(results), null, 2)] : verifyText(rules, results);
      for (const line of lines) console.log(line);
      if (!isClean(results)) process.exitCode = 1;
    });
}

function look(): Promise<readonly RuleResult[]> {
  const databaseUrl = givenServers().databaseUrl ?? findDemoState()?.databaseUrl;
  if (databaseUrl === undefined)
    throw new Failure('WHERE', 'Say which database in DATABASE_URL; no demo is running here (npm run demo)');
  return withStore({ databaseUrl }, (store) => runRules(store, rules));
}

/** Pure. A line for each rule, what was found below its rule, and the verdict last. */
export function verifyText(all: readonly RuleText[], results: readonly RuleResult[]): string[] {
  const textOf = new Map(all.map((rule) => [rule.code, rule]));
  const rows = results.map((result) => [
    outcomeText(result),
    result.code,
    textOf.get(result.code)?.title ?? '',
  ]);
  const told = results.flatMap((result) => tell(textOf.get(result.code), result));
  return [...table(['', 'rule', ''], rows), ...told, '', verdict(results)];
}

function outcomeText({ outcome, findingCount }: RuleResult): string {
  if (outcome !== 'FINDINGS') return outcome;
  return `${grouped(findingCount)} finding${findingCount === 1 ? '' : 's'}`;
}

function tell(
  rule: RuleText | undefined,
  { code, outcome, error, findings, findingCount }: RuleResult,
): string[] {
  if (outcome === 'OK') return [];
  const head = ['', `${code}: ${rule?.looksFor ?? ''}`];
  if (outcome === 'BROKEN') return [...head, `  could not look: ${error}`];
  const shown = findings.slice(0, FINDINGS_TOLD_MAX);
  const lines = shown.map(
    ({ targetType, targetId, detail }) => `  ${targetType} ${targetId} ${JSON.stringify(detail)}`,
  );
  const more = findingCount - shown.length;
  return [
    ...head,
    ...lines,
    ...(more > 0 ? [`  and ${grouped(more)} more`] : []),
    `  what to do: ${rule?.whatToDo ?? ''}`,
  ];
}

function verdict(results: readonly RuleResult[]): string {
  const found = results.filter((result) => result.outcome === 'FINDINGS').length;
  const broken = results.filter((result) => result.outcome === 'BROKEN').length;
  const rules = `${results.length} rules`;
  if (isClean(results)) return `VERIFIED: ${rules}, nothing found`;
  return `NOT VERIFIED: of ${rules} ${found} found something and ${broken} could not look`;
}

function jsonOf(results: readonly RuleResult[]) {
  return { verdict: isClean(results) ? 'VERIFIED' : 'NOT_VERIFIED', results };
}
