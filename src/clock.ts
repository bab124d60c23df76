/** Time inside one process: monotonic, for slices and trust windows. Schedules and leases in rows use the database's clock. */

/** Milliseconds on a clock that never goes back; only differences mean anything (ENG-19). */
export function monotonicMs(): number {
  return performance.now();
}
