/**
 * How many cases a property is tried with, and from which seed. A failure tells its seed, its path and the smallest
 * counterexample; `ROOFTALLY_TEST_SEED=…` (and `ROOFTALLY_TEST_PATH=…`) tries the same cases again, for every property.
 */
import fc, { type Parameters } from 'fast-check';
import { noteFigure } from './figures.ts';
import { sizeOf } from './full-run.ts';

export interface PropertySize {
  readonly runs: { readonly short: number; readonly full: number };
  /**
   * No case is begun after it; so a busy machine tries fewer, and the run stays short. A case under way is never cut off,
   * as fast-check's own limit does: it would go on in a database that the test has dropped.
   */
  readonly limitMs: { readonly short: number; readonly full: number };
  /** Long cases from the first on, where the short ones are too simple to find anything. */
  readonly unbiased?: boolean;
}

/** @param what is tried, for people @throws Error that tells seed, path and the smallest counterexample */
export async function assertProperty<T>(
  what: string,
  size: PropertySize,
  cases: fc.Arbitrary<T>,
  holdsFor: (one: T) => Promise<void>,
): Promise<void> {
  const endMs = performance.now() + sizeOf(size.limitMs);
  let tried = 0;
  let failed = false;
  const property = fc.asyncProperty(cases, async (one) => {
    // What shrinks a failure is still tried.
    if (!failed && performance.now() > endMs) return;
    tried++;
    try {
      await holdsFor(one);
    } catch (error) {
      failed = true;
      throw error;
    }
  });
  const run = await fc.check(property, { numRuns: sizeOf(size.runs), ...parametersOf<T>(size) });
  noteFigure(what, `${tried} cases from seed ${run.seed}`);
  if (run.failed) throw new Error((await fc.asyncDefaultReportMessage(run)) ?? what);
}

function parametersOf<T>({ unbiased }: PropertySize): Parameters<[T]> {
  const { ROOFTALLY_TEST_SEED: seed, ROOFTALLY_TEST_PATH: path } = process.env;
  return {
    unbiased: unbiased === true,
    ...(seed === undefined || seed === '' ? {} : { seed: Number(seed) }),
    ...(path === undefined || path === '' ? {} : { path }),
  };
}
