/** The parts of a partner that bodies carry. */
import { z } from 'zod';
import { AMOUNT_PATTERN, toDecimals } from '../domain/as-written.ts';
import type { StageName } from '../domain/stage.ts';
import { ROUTED_STAGES } from './refusals.ts';
import { isId } from './reply-list.ts';

const CAP_MAX = 64;

/** '0' is nobody: work that belongs to no partner. */
export const partnerOrgId = z
  .string()
  .refine((text) => isId(text) && BigInt(text) > 0n, 'must be a positive decimal number, as a string');

export const paymentFlow = z.enum(['ENABLED', 'DISABLED']).nullable();

/** CNY; a JSON number counts as it is written (DEC-1, DEC-6). */
export const tolerance = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => AMOUNT_PATTERN.test(text), 'must be an amount ≥ 0 with at most two decimals')
  .transform((text) => toDecimals(text, 2));

/** By stage; null takes the stage's default again. */
export const caps = z.partialRecord(
  z.enum(ROUTED_STAGES as [StageName, ...StageName[]]),
  z.int().min(1, 'must be at least 1; to hold a partner, pause it').max(CAP_MAX).nullable(),
);
export type GivenCaps = z.infer<typeof caps>;

/** What is not named stays as it is. */
export function mergeCaps(before: Partial<Record<StageName, number>>, given: GivenCaps) {
  const merged: Partial<Record<StageName, number>> = { ...before };
  for (const [stage, cap] of Object.entries(given) as [StageName, number | null][]) {
    if (cap === null) delete merged[stage];
    else merged[stage] = cap;
  }
  return merged;
}
