/**
 * The demo's payment scenes, all over the control plane: a submit that publishes, one that fails for good and lets go of
 * its bills, a release that is refused, a revision that loses its right and is closed out, and the results that come in.
 * At the end nothing of them is locked any more, so that the partner's next push meets no payment.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../api-client.ts';
import { grouped } from '../figures.ts';
import { runTasks } from '../tasks.ts';
import {
  chooseBills,
  giveVerdict,
  type SceneBill,
  type SceneBills,
  waitForStatuses,
} from './payment-bills.ts';
import {
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
import type { PaymentScenes } from './payment-verdict.ts';
import type { Telling } from './telling.ts';

/** Held while a revision meets a bill whose figures are being refreshed. */
export const HELD_FOR_REVISION = 'account-shard';
/** A pause of a stage is effective in two seconds (ENG-14). */
const PAUSE_EFFECTIVE_MS = 2_000;
/** Two clerks. */
const LIN = 'lin';
const WANG = 'wang';

interface Scene extends Telling {
  readonly partnerOrgId: string;
  readonly bills: SceneBills;
}

/** @returns null where earlier runs have used up the example's bills: there is nothing to pay then, and it is said */
export async function tellPayments(telling: Telling): Promise<PaymentScenes | null> {
  const { world, say } = telling;
  const { partnerOrgId, orgCode } = world.example.partners[0]!;
  const bills = await chooseBills(world.admin, partnerOrgId);
  say('\nPayments. Whoever pays a bill locks it first, so that nobody pays or changes it meanwhile.');
  if (bills === null) {
    say('Earlier runs have paid all bills that could be shown here; --fresh begins anew.');
    return null;
  }
  const scene: Scene = { ...telling, partnerOrgId, bills };
  say(`\nSix bills of ${orgCode} for ${bills[0].billYearMonth} are verified, at ${roofs(bills)}.`);
  await giveVerdict(world.admin, bills, 'VERIFIED');
  await waitForStatuses(
    world.admin,
    partnerOrgId,
    bills,
    bills.map(() => 'PAYABLE'),
  );
  const contender = await openContender(scene);
  const published = await publish(scene);
  const failed = await failForGood(scene, published.order, contender);
  const refused = await refuseRelease(scene, published.order);
  const revised = await loseRevision(scene, published.order);
  const results = await takeResults(scene, published.order);
  return { published: published.seen, failed, refused, revised, results };
}

/** Wang chooses while all bills are free still; one of them will be gone when the submit comes. */
function openContender({ world, say, partnerOrgId, bills }: Scene): Promise<string> {
  say(`Wang chooses two of them (${roofs([bills[0], bills[3]])}), but does not submit yet.`);
  return openSession(world.admin, { ...wishOf(partnerOrgId, [bills[0], bills[3]]), creatorUserId: WANG });
}

async function publish(scene: Scene) {
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

async function failForGood(scene: Scene, winner: Submitted, sessionId: string) {
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
  say(`   What it had reserved is let go: ${locksText(held)}. Lin's order keeps its own: ${others}.`);
  await world.admin.post(`${PLANE}/payment-sessions/${sessionId}/cancel`, { reason: 'taken by another' });
  say('   Wang gives the session up.');
  return {
    session: session.status,
    failureCode: version?.failureCode ?? null,
    locks: locksText(held),
    others,
  };
}

async function refuseRelease({ world, say }: Scene, order: Submitted) {
  say(`\n3. Somebody asks to release Lin's published order as if it had failed (BUILD_FAILED).`);
  const answer = await askForRelease(world.admin, order.versionId);
  const locks = locksText(await listBills(world.admin, order));
  say(`   ${answer.code === null ? 'It was NOT refused' : `Refused, ${answer.text}`}.`);
  say(`   Nothing of it is released: ${locks}.`);
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

/** The order changes hands between two batches of its revision's build (LCK-29). */
async function loseRevision(scene: Scene, order: Submitted) {
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
  const batch = await waitFor(
    'the revision to wait for a bill',
    () =>
      world.admin.get<{ errorCode: string | null; retryCount: number }>(
        `${PLANE}/tasks/${revision.taskCode}`,
      ),
    ({ retryCount }) => retryCount > 0,
  );
  const held = locksText(await listBills(world.admin, revision));
  say(
    `   Roof ${bills[5].platformStationId} was marked unqualified by mistake and set right; until its figures are refreshed the revision waits (${batch.errorCode}).`,
  );
  say(`   So far it holds: ${held} (without a lock of its own: the order's earlier version holds it).`);
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
  say(`   Its reservation is let go: ${locksText(own)}; its version is ${version?.versionBuildStatus}.`);
  say(`   Then its session is cleaned up: ${session.status}. The order itself stands as it was: ${kept}.`);
  return {
    session: session.status,
    failureCode: version?.failureCode ?? null,
    version: version?.versionBuildStatus ?? null,
    locks: locksText(own),
    order: kept,
  };
}

async function takeResults(scene: Scene, order: Submitted) {
  const { world, say, partnerOrgId, bills } = scene;
  const [first, second, third, fourth] = await orderBillsOf(scene, order, bills.slice(1, 5));
  const orderPath = `${PLANE}/payment-orders/${order.orderId}`;
  const named = { paymentOrderVersionId: order.versionId };
  say(
    `\n5. The audit approves the order, except roof ${fourth!.platformStationId}: its meter was read wrongly.`,
  );
  await world.admin.post(`${orderPath}/audit-results`, {
    ...named,
    eventId: `demo-${order.versionId}-audit`,
    result: 'APPROVED',
    unqualifiedBills: [{ orderBillId: fourth!.orderBillId, reason: 'meter read wrongly' }],
  });
  say(
    `   The bank has paid ${grouped(first!.amount)} and ${grouped(second!.amount)} CNY; ${grouped(third!.amount)} CNY came back: the account is closed.`,
  );
  const paidTime = new Date().toISOString();
  const paid = [first!, second!].map(({ orderBillId, amount }) => ({
    ...{ eventId: `demo-${order.versionId}-${orderBillId}`, outcome: 'PAID', orderBillId, amount, paidTime },
  }));
  const { orderBillId } = third!;
  const back = { eventId: `demo-${order.versionId}-${orderBillId}`, outcome: 'FAILED', orderBillId };
  await world.admin.post(`${orderPath}/payment-results`, { ...named, results: [...paid, back] });
  const end = await waitFor(
    'the settled bills to be let go',
    () => listBills(world.admin, order),
    (all) => all.every(({ lockStatus }) => lockStatus === 'RELEASED'),
  );
  const statuses = ['PAYABLE', 'PAID', 'PAID', 'PAYABLE', 'UNQUALIFIED', 'PAYABLE'];
  await waitForStatuses(world.admin, partnerOrgId, bills, statuses);
  for (const bill of end)
    say(`   roof ${bill.platformStationId}: ${bill.lockStatus?.toLowerCase()}, ${bill.releaseReason}`);
  say('   Both bills that were paid read PAID now; the one that came back can be chosen again.');
  return { locks: locksText(end) };
}

async function orderBillsOf({ world }: Scene, order: Submitted, bills: readonly SceneBill[]) {
  const own = new Map((await listBills(world.admin, order)).map((bill) => [bill.partnerBillId, bill]));
  return bills.map((bill) => own.get(bill.partnerBillId)!);
}

async function showVersion({ world }: Scene, { orderId, versionId }: Submitted) {
  const { versions } = await showOrder(world.admin, orderId);
  return versions.find(({ paymentOrderVersionId }) => paymentOrderVersionId === versionId);
}

function wishOf(partnerOrgId: string, bills: readonly SceneBill[]) {
  return {
    partnerOrgId,
    months: [bills[0]!.billYearMonth],
    partnerBillIds: bills.map((bill) => bill.partnerBillId),
  };
}

function roofs(bills: readonly SceneBill[]): string {
  return `roofs ${bills.map((bill) => bill.platformStationId).join(', ')}`;
}
