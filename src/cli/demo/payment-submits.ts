/** Scenes 1 to 3: a submit that publishes, one that fails for good and is released, and a release that is refused. */
import { ApiError } from '../api-client.ts';
import { grouped } from '../figures.ts';
import {
  LIN,
  listBills,
  locksText,
  openSession,
  PLANE,
  type Submitted,
  showOrder,
  showSession,
  submit,
  waitFor,
} from './payment-plane.ts';
import { roofs, type Scene, showVersion, wishOf } from './payment-scene.ts';
import type { Telling } from './telling.ts';

/** PAY-2 to PAY-5. */
export async function publish(scene: Scene) {
  const { world, say, partnerOrgId, bills } = scene;
  const wanted = bills.slice(1, 5);
  say(`\n1. Lin chooses ${roofs(wanted)}, and submits.`);
  const sessionId = await openSession(world.admin, {
    ...wishOf(partnerOrgId, wanted),
    creatorUserId: LIN,
  });
  const order = await submit(world.admin, sessionId);
  const session = await waitFor(
    'the submit to be published',
    () => showSession(world.admin, sessionId),
    ({ status }) => status === 'PUBLISHED' || status === 'SUBMIT_FAILED',
  );
  await waitFor(
    'the audit plan',
    () => showOrder(world.admin, order.orderId),
    ({ auditStatus }) => auditStatus === 'PENDING',
  );
  const shown = await showOrder(world.admin, order.orderId);
  const held = await listBills(world.admin, order);
  for (const bill of held)
    say(`   roof ${bill.platformStationId}: ${grouped(bill.amount)} CNY, locked for it`);
  say(
    `   Published as order ${shown.id} (${shown.orderNo}), version ${shown.currentPublishVersion}; its audit is ${shown.auditStatus}.`,
  );
  return { order, seen: { session: session.status, locks: locksText(held) } };
}

/** LCK-3: a bill that was named belongs to another order by now. */
export async function failForGood(scene: Scene, winner: Submitted, sessionId: string) {
  const { world, say, bills } = scene;
  say(
    `\n2. Wang submits now: roof ${bills[0].platformStationId} is free and reserved, roof ${bills[3].platformStationId} belongs to Lin's order.`,
  );
  const order = await submit(world.admin, sessionId);
  const session = await waitFor(
    'the second submit to end',
    () => showSession(world.admin, sessionId),
    ({ status }) => status === 'PUBLISHED' || status === 'SUBMIT_FAILED',
  );
  const version = await showVersion(scene, order);
  say(`   It fails for good, ${version?.failureCode}: ${version?.failureMessage}.`);
  const held = await waitFor(
    'its locks to be released',
    () => listBills(world.admin, order),
    (own) => own.every(({ lockStatus }) => lockStatus === 'RELEASED'),
  );
  const others = locksText(await listBills(world.admin, winner));
  say(`   What it had reserved is let go (${locksText(held)}). Lin's order keeps its locks (${others}).`);
  await world.admin.post(`${PLANE}/payment-sessions/${sessionId}/cancel`, { reason: 'taken by another' });
  say('   Wang gives the session up.');
  return {
    session: session.status,
    failureCode: version?.failureCode ?? null,
    locks: locksText(held),
    others,
  };
}

/** Nothing frees what is published as if it had failed (LCK-3, LCK-13). */
export async function refuseRelease({ world, say }: Scene, order: Submitted) {
  say(`\n3. Somebody asks to release Lin's published order as if it had failed (BUILD_FAILED).`);
  const answer = await askForRelease(world.admin, order.versionId);
  const locks = locksText(await listBills(world.admin, order));
  say(`   ${answer.code === null ? 'It was NOT refused' : `Refused, ${answer.text}`}.`);
  say(`   Nothing of it is released (${locks}).`);
  return { code: answer.code, locks };
}

async function askForRelease(admin: Telling['world']['admin'], paymentOrderVersionId: string) {
  const body = { paymentOrderVersionId, lockReleaseReason: 'BUILD_FAILED' };
  try {
    await admin.post(`${PLANE}/lock-releases`, body);
    return { code: null, text: '' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { code: error.code, text: `${error.status} ${error.problem.detail ?? error.code}` };
  }
}
