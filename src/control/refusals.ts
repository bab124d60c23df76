/** Refusals that several commands share. */
import { route } from '../../queues/route.ts';
import type { StageName } from '../domain/stage.ts';
import { Problem } from '../http/problem.ts';
import { isId } from './reply-list.ts';

/** The stages that have work here, in their order. */
export const ROUTED_STAGES: readonly StageName[] = route.map(({ stage }) => stage);

export function noSuchTask(code: string): Problem {
  return new Problem(404, 'NO_SUCH_TASK', `There is no task ${code.slice(0, 160)}.`);
}

export function noSuchPartner(partnerOrgId: string): Problem {
  return new Problem(404, 'NO_SUCH_PARTNER', `There is no partner ${partnerOrgId.slice(0, 40)}.`);
}

/** @throws Problem 404 */
export function requireStage(name: string): StageName {
  const stage = ROUTED_STAGES.find((candidate) => candidate === name);
  if (stage !== undefined) return stage;
  throw new Problem(
    404,
    'NO_SUCH_STAGE',
    `There is no stage ${name.slice(0, 40)}; there are ${ROUTED_STAGES.join(', ')}.`,
  );
}

/** What is no id names nothing that is there. @throws Problem 404 */
export function readPathId(text: string, notThere: (text: string) => Problem): string {
  if (!isId(text)) throw notThere(text);
  return String(BigInt(text));
}
