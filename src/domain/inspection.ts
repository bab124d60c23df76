/** What inspection is about, in words: a rule as people read it, and what a run found (INV-1). */

export interface RuleText {
  /** Stable; at most 48 characters. */
  readonly code: string;
  readonly title: string;
  readonly looksFor: string;
  readonly why: string;
  readonly whatToDo: string;
}

/** BROKEN: the rule itself failed; nothing is known of what it looks for. */
export type RuleOutcome = 'OK' | 'FINDINGS' | 'BROKEN';

export interface Finding {
  /** What kind of thing breaks the rule, and which one. */
  readonly targetType: string;
  readonly targetId: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface RuleResult {
  readonly code: string;
  readonly outcome: RuleOutcome;
  /** The true number; `findings` may hold fewer. */
  readonly findingCount: number;
  readonly findings: readonly Finding[];
  readonly tookMs: number;
  /** Why the rule broke. */
  readonly error: string | null;
}

/** Who asked for a run: the clock, or a person. */
export type InspectionTrigger = 'SCHEDULE' | 'HAND';

/** Nothing found, and every rule could look. */
export function isClean(results: readonly RuleResult[]): boolean {
  return results.every((result) => result.outcome === 'OK');
}
