/**
 * The map of the system: the stages in the order in which a bill passes them. Everything that works for all stages
 * (queues, workers, slots, scan, metrics, board) is built from this list.
 */
import type { StageName } from '../src/domain/stage.ts';
import { accountFull } from './account-full.ts';
import { accountShard } from './account-shard.ts';
import { billSnapshot } from './bill-snapshot.ts';
import { billStation } from './bill-station.ts';
import { incomeDiff } from './income-diff.ts';
import { lockRelease } from './lock-release.ts';
import { paymentSubmit } from './payment-submit.ts';
import { sessionCleanup } from './session-cleanup.ts';
import type { StageRoute } from './stage-route.ts';

export const route: readonly StageRoute[] = [
  billStation,
  incomeDiff,
  accountShard,
  accountFull,
  billSnapshot,
  paymentSubmit,
  lockRelease,
  sessionCleanup,
];

const byStage = new Map(route.map((entry) => [entry.stage, entry]));

/** @throws Error where the stage has no entry: a mistake in the code, not in the input. */
export function routeOf(stage: StageName): StageRoute {
  const entry = byStage.get(stage);
  if (entry === undefined) throw new Error(`No route for stage ${stage}`);
  return entry;
}
