/** A rule: its text, and how to look. It reads only; whatever it finds is for a person to mend. */
import type { RuleText } from '../domain/inspection.ts';
import type { Found, Reader } from '../store/invariants/found.ts';

export interface InvariantRule extends RuleText {
  /** What its findings are ids of. */
  readonly targetType: string;
  find(reader: Reader): Promise<Found>;
}
