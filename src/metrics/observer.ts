/** What the engine tells whoever measures it. Called after commits only, so that a success told is a success (COV-4). */
import type { StageName } from '../domain/stage.ts';

export type TaskEndLabel =
  | 'succeeded'
  | 'failed'
  | 'failed-for-good'
  | 'postponed'
  | 'continued'
  | 'cancelled'
  | 'stopped'
  | 'handed-back';

export interface Observer {
  claimed(stage: StageName, tasks: number, waitedMs: readonly number[]): void;
  /** A slot could not be taken: another holds it. */
  claimLost(stage: StageName): void;
  ended(stage: StageName, end: TaskEndLabel, tasks: number, runMs: number): void;
  fenced(stage: StageName): void;
  /** Tasks given back because their slot was lost. */
  rescued(stage: StageName, tasks: number): void;
  batchHalved(stage: StageName): void;
  conflict(): void;
  kicked(stage: StageName, outcome: 'sent' | 'failed' | 'off'): void;
  scanned(found: number, dead: number, tookMs: number): void;
  /** A push was found complete, for the first time or again (COV-4). */
  completed(state: 'COMPLETE' | 'COMPLETE_WITH_EXCEPTIONS'): void;
  /** Rows of retention's last piece, by table. */
  removed(rows: Readonly<Record<string, number>>, tookMs: number): void;
  /** How a run of retention ended, and how many expired pushes it kept, by reason. */
  retentionRan(end: string, kept: ReadonlyMap<string, number>): void;
  /** Something that should not fail did, and the work goes on; `traceId` is that of the push it came from. */
  trouble(where: string, error: unknown, traceId?: string | null): void;
}

/** Hears nothing; for tools that run without metrics. */
export const silentObserver: Observer = {
  claimed() {},
  claimLost() {},
  ended() {},
  fenced() {},
  rescued() {},
  batchHalved() {},
  conflict() {},
  kicked() {},
  scanned() {},
  completed() {},
  removed() {},
  retentionRan() {},
  trouble() {},
};
