/** When failed work is due again; a property of the task's type (ENG-13, LCK-22, ACC-10). */
export type BackOff = (retryCount: number, random: number) => number;

const EXPONENTIAL_BASE_MS = 2_000;
const EXPONENTIAL_MAX_MS = 600_000;
const JITTER_SHARE = 0.2;

/** Chain stages: 2 s, 4 s, … up to 10 min, each ± 20 %. `retryCount` is the number of failures so far, from 1. */
export const exponentialBackOff: BackOff = (retryCount, random) => {
  const plain = Math.min(
    EXPONENTIAL_MAX_MS,
    EXPONENTIAL_BASE_MS * 2 ** Math.min(30, Math.max(0, retryCount - 1)),
  );
  return Math.round(plain * (1 - JITTER_SHARE + 2 * JITTER_SHARE * random));
};

/** Lock release: `min(60, max(1, n + 1) × 5)` minutes with the counted-up n (LCK-22). */
export const lockReleaseBackOff: BackOff = (retryCount) =>
  Math.min(60, Math.max(1, retryCount + 1) * 5) * 60_000;
