/** Work in progress: takes nothing up yet. */
import type { StageName } from '../src/domain/stage.ts';
import type { ClaimedTask, Ending, StageHandler } from '../src/tasks/stage-handler.ts';

export function lockReleaseActor(): StageHandler {
  const later: Ending = { kind: 'postponed', dueInMs: 60_000 };
  return {
    stage: 'lock-release' satisfies StageName,
    work: async (_tx, tasks: readonly ClaimedTask[]) => new Map(tasks.map((task) => [task.id, later])),
  };
}
