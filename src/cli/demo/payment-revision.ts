/** Scene 4: a revision that loses its right halfway, is closed out, and whose session is cleaned up (LCK-19, LCK-29, SES-1). */
import { setTimeout as pause } from 'node:timers/promises';
import { runTasks } from '../tasks.ts';
import { giveVerdict } from './payment-bills.ts';
import {
  HELD_FOR_REVISION,
  LIN,
  listBills,
  locksText,
  openSession,
  PLANE,
  type Submitted,
  showSession,
  submit,
  WANG,
  waitFor,
} from './payment-plane.ts';
import { type Scene, showVersion, wishOf } from './payment-scene.ts';

/** A pause of a stage is effective in two seconds (ENG-14). */
const PAUSE_EFFECTIVE_MS = 2_000;
/** The order changes hands between two batches of its revision's build (LCK-29). */
export async function loseRevision(scene: Scene, order: Submitted) {
  const { world, say, bills } = scene;
  say(
    `\n4. Lin revises the order: roofs ${bills[0].platformStationId} and ${bills[5].platformStationId} are to be added.`,
  );
  await world.admin.post(`${PLANE}/stages/${HELD_FOR_REVISION}/pause`);
  try {
    const revision = await beginRevision(scene, order);
    say(
      '   Meanwhile the order is handed over to Wang: only its creator may revise it, so this revision is void.',
    );
    await world.admin.post(`${PLANE}/payment-orders/${order.orderId}/creator`, { creatorUserId: WANG });
    await runTasks(world.admin, { stage: 'payment-submit', taskCodes: [revision.taskCode] });
    return await watchCloseOut(scene, order, revision);
  } finally {
    await world.admin.post(`${PLANE}/stages/${HELD_FOR_REVISION}/resume`);
  }
}

/** Submitted, one bill reserved, and waiting for a bill whose figures are being refreshed. */
async function beginRevision(
  { world, say, partnerOrgId, bills }: Scene,
  order: Submitted,
): Promise<Submitted> {
  const sessionId = await openSession(world.admin, {
    ...wishOf(partnerOrgId, bills),
    creatorUserId: LIN,
    paymentOrderId: order.orderId,
  });
  await pause(PAUSE_EFFECTIVE_MS);
  await giveVerdict(world.admin, [bills[5]], 'UNQUALIFIED', 'marked by mistake');
  await giveVerdict(world.admin, [bills[5]], 'VERIFIED');
  const revision = await submit(world.admin, sessionId);
  const task = await waitFor(
    'the revision to wait for a bill',
    () =>
      world.admin.get<{ errorCode: string | null; retryCount: number }>(
        `${PLANE}/tasks/${revision.taskCode}`,
      ),
    ({ retryCount }) => retryCount > 0,
  );
  const all = await listBills(world.admin, revision);
  const reserved = all.filter(({ lockStatus }) => lockStatus === 'RESERVED').length;
  say(
    `   Roof ${bills[5].platformStationId} was marked unqualified by mistake and set right; until its figures are refreshed, the revision waits (${task.errorCode}).`,
  );
  say(
    `   So far it has reserved ${reserved} bill, and keeps ${all.length - reserved} that the order holds already.`,
  );
  return revision;
}

async function watchCloseOut(scene: Scene, order: Submitted, revision: Submitted) {
  const { world, say } = scene;
  const session = await waitFor(
    'the revision to be closed out and its session cleaned up',
    () => showSession(world.admin, revision.sessionId),
    ({ status }) => status === 'CANCELLED' || status === 'PUBLISHED',
  );
  const version = await showVersion(scene, revision);
  const own = (await listBills(world.admin, revision)).filter(({ lockStatus }) => lockStatus !== null);
  const kept = locksText(await listBills(world.admin, order));
  say(`   Its reservation is let go (${locksText(own)}); its version is ${version?.versionBuildStatus}.`);
  say(`   Then its session is cleaned up: ${session.status}. The order itself stands as it was (${kept}).`);
  return {
    session: session.status,
    failureCode: version?.failureCode ?? null,
    version: version?.versionBuildStatus ?? null,
    locks: locksText(own),
    order: kept,
  };
}
