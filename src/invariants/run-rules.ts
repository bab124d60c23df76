/** Runs rules one after another. A rule that breaks is a result like others, and does not stop those behind it (INV-1). */
import { monotonicMs } from '../clock.ts';
import type { Finding, RuleResult } from '../domain/inspection.ts';
import type { Found, FoundRow, Reader } from '../store/invariants/found.ts';
import type { InvariantRule } from './rule.ts';

const ERROR_LENGTH_MAX = 1_000;

export interface RunOptions {
  /** Told of each result as it comes. */
  readonly onResult?: (result: RuleResult) => void;
  /** Stops before the next statement; the rest is not looked at. @throws the signal's reason */
  readonly signal?: AbortSignal;
}

export async function runRules(
  reader: Reader,
  rules: readonly InvariantRule[],
  { onResult, signal }: RunOptions = {},
): Promise<RuleResult[]> {
  const stoppable = signal === undefined ? reader : untilAborted(reader, signal);
  const results: RuleResult[] = [];
  for (const rule of rules) {
    const result = await runRule(stoppable, rule);
    signal?.throwIfAborted();
    results.push(result);
    onResult?.(result);
  }
  return results;
}

async function runRule(reader: Reader, rule: InvariantRule): Promise<RuleResult> {
  const startedMs = monotonicMs();
  const took = () => Math.round(monotonicMs() - startedMs);
  try {
    const found = await rule.find(reader);
    const findings = found.rows.map((row) => findingOf(rule, row));
    return { ...outcomeOf(rule, found), findings, tookMs: took(), error: null };
  } catch (error) {
    const text = (error instanceof Error ? error.message : String(error)).slice(0, ERROR_LENGTH_MAX);
    return { code: rule.code, outcome: 'BROKEN', findingCount: 0, findings: [], tookMs: took(), error: text };
  }
}

function outcomeOf(
  { code }: InvariantRule,
  { count }: Found,
): Pick<RuleResult, 'code' | 'outcome' | 'findingCount'> {
  return { code, outcome: count === 0 ? 'OK' : 'FINDINGS', findingCount: count };
}

function findingOf({ targetType }: InvariantRule, { targetId, total: _total, ...detail }: FoundRow): Finding {
  return { targetType, targetId: String(targetId), detail };
}

function untilAborted(reader: Reader, signal: AbortSignal): Reader {
  const reads =
    <Args extends unknown[], T>(read: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> => {
      signal.throwIfAborted();
      return read(...args);
    };
  return {
    many: reads(reader.many.bind(reader)) as Reader['many'],
    maybeOne: reads(reader.maybeOne.bind(reader)) as Reader['maybeOne'],
    one: reads(reader.one.bind(reader)) as Reader['one'],
  };
}
