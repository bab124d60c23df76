/**
 * How many cases a property is tried with, and from which seed. A failure tells its seed, its path and the smallest
 * counterexample; `ROOFTALLY_TEST_SEED=…` (and `ROOFTALLY_TEST_PATH=…`) tries the same cases again, for every property.
 */
import fc, { type Parameters } from 'fast-check';
import { noteFigure } from './figures.ts';
import { sizeOf } from './full-run.ts';

/** @param what is tried, for people; @param limitMs no case is begun after it; so a busy machine tries fewer, and the run stays short */
export function propertyOptions<T>(
  what: string,
  runs: { readonly short: number; readonly full: number },
  limitMs: { readonly short: number; readonly full: number },
): Parameters<T> {
  const seed = process.env.ROOFTALLY_TEST_SEED;
  const path = process.env.ROOFTALLY_TEST_PATH;
  return {
    numRuns: sizeOf(runs),
    interruptAfterTimeLimit: sizeOf(limitMs),
    markInterruptAsFailure: false,
    asyncReporter: async (run) => {
      noteFigure(what, `${run.numRuns} cases from seed ${run.seed}`);
      if (run.failed) throw new Error(await fc.asyncDefaultReportMessage(run));
    },
    ...(seed === undefined || seed === '' ? {} : { seed: Number(seed) }),
    ...(path === undefined || path === '' ? {} : { path }),
  };
}
