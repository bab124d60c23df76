/**
 * How much a test does. `npm test` must be over soon; `npm run test:full` sets ROOFTALLY_TEST_FULL and takes its time. The
 * same tests run in both: nothing is left out of either.
 */

export const FULL_RUN = process.env.ROOFTALLY_TEST_FULL === '1';

/** A number of things to do: few in `npm test`, all of them in the full run. */
export function sizeOf(size: { readonly short: number; readonly full: number }): number {
  return FULL_RUN ? size.full : size.short;
}
