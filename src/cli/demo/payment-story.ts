/**
 * The demo's payment scenes, all over the control plane: a submit that publishes, one that fails for good and lets go of
 * its bills, a release that is refused, a revision that loses its right and is closed out, and the results that come in.
 * At the end nothing of them is locked any more, so that the partner's next push meets no payment.
 */
import { chooseBills, giveVerdict, waitForStatuses } from './payment-bills.ts';
import { openSession, WANG } from './payment-plane.ts';
import { takeResults } from './payment-results.ts';
import { loseRevision } from './payment-revision.ts';
import { roofs, type Scene, wishOf } from './payment-scene.ts';
import { failForGood, publish, refuseRelease } from './payment-submits.ts';
import type { PaymentScenes } from './payment-verdict.ts';
import type { Telling } from './telling.ts';

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
