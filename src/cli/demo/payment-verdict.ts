/** Whether the payment scenes came out as they must; each difference is a sentence. Pure. */

/** What was seen at the end of each scene, by its name: what was looked at, and what it was. */
export interface PaymentScenes {
  readonly published: SceneSeen;
  readonly failed: SceneSeen;
  readonly refused: SceneSeen;
  readonly revised: SceneSeen;
  readonly results: SceneSeen;
}

type SceneSeen = Readonly<Record<string, string | null>>;

export const PAYMENT_SCENES_WANTED: PaymentScenes = {
  published: { session: 'PUBLISHED', locks: '4 ACTIVE' },
  failed: {
    session: 'SUBMIT_FAILED',
    failureCode: 'BILL_LOCK_CONFLICT',
    locks: '1 RELEASED for BUILD_FAILED',
    others: '4 ACTIVE',
  },
  refused: { code: 'RELEASE_NOT_IMPLIED', locks: '4 ACTIVE' },
  revised: {
    session: 'CANCELLED',
    failureCode: 'INVALID_REVISE_SESSION',
    version: 'CANCELLED',
    locks: '1 RELEASED for INVALID_REVISE_SESSION',
    order: '4 ACTIVE',
  },
  results: {
    locks:
      '1 RELEASED for PAYMENT_FAIL, 2 RELEASED for PAYMENT_SUCCESS, 1 RELEASED for REVIEW_APPROVED_UNQUALIFIED',
  },
};

/** @returns nothing where all is as it must be */
export function paymentFaults(seen: PaymentScenes): string[] {
  return Object.entries(PAYMENT_SCENES_WANTED).flatMap(([scene, wanted]) =>
    Object.entries(wanted as SceneSeen).flatMap(([what, must]) => {
      const is = seen[scene as keyof PaymentScenes][what] ?? null;
      return is === must ? [] : [`payment scene "${scene}": ${what} is ${is}, must be ${must}`];
    }),
  );
}
