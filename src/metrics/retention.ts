/** What the removal of old rows does (RET-1), told by the process that does it; and how far behind the database's own purge is. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Observer } from './observer.ts';

const PIECE_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

export function retentionObserver(registry: Registry): Pick<Observer, 'removed' | 'retentionRan'> {
  const registers = [registry];
  const rows = new Counter({
    name: 'rooftally_retention_removed_rows_total',
    help: 'Rows removed because nothing can re-create or quote them any more',
    labelNames: ['table'],
    registers,
  });
  const pieces = new Histogram({
    name: 'rooftally_retention_piece_seconds',
    help: 'Time of one transaction of the removal',
    buckets: PIECE_BUCKETS_S,
    registers,
  });
  const runs = new Counter({
    name: 'rooftally_retention_runs_total',
    help: 'Runs of the removal, by how they ended',
    labelNames: ['end'],
    registers,
  });
  const keptPushes = new Gauge({
    name: 'rooftally_retention_kept_pushes',
    help: 'Pushes that the last run of this process kept although their identity has expired, by reason',
    labelNames: ['reason'],
    registers,
  });
  return {
    removed(removed, tookMs) {
      for (const [table, count] of Object.entries(removed)) rows.inc({ table }, count);
      pieces.observe(tookMs / 1000);
    },
    retentionRan(end, kept) {
      runs.inc({ end });
      keptPushes.reset();
      for (const [reason, count] of kept) keptPushes.set({ reason }, count);
    },
  };
}

export interface HistoryLengthOptions {
  /** Undo records that the database has yet to purge. */
  readonly readHistoryLength: () => Promise<number>;
  readonly onTrouble: (where: string, error: unknown) => void;
}

/** A read view that lives long makes it grow, and claims slow down behind it. */
export function registerHistoryLength(
  registry: Registry,
  { readHistoryLength, onTrouble }: HistoryLengthOptions,
): void {
  let isTold = false;
  new Gauge({
    name: 'rooftally_innodb_history_length',
    help: 'Undo records that InnoDB has yet to purge; no figure where the database user may not ask (PROCESS)',
    registers: [registry],
    async collect() {
      this.reset();
      try {
        this.set(await readHistoryLength());
        isTold = false;
      } catch (error) {
        this.remove();
        if (!isTold)
          onTrouble('metrics: reading the history length; grant PROCESS to the database user', error);
        isTold = true;
      }
    },
  });
}
