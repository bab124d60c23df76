/** POST /admin/api/v1/verifications: verdicts on one bill or many, all or none (DEC-8, DEC-25). */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { verifyBills } from '../payment/verify-bills.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './payment-fields.ts';
import { readBody } from './read-body.ts';

const VERDICTS_MAX = 500;

const verdict = z.strictObject({
  partnerBillId: fields.id,
  /** The order number of the push that was looked at. */
  acceptNo: fields.id,
  partnerQueryStatus: z.enum(['VERIFIED', 'UNQUALIFIED']),
  reason: fields.reason.nullable().default(null),
});

export const verificationsBody = z.union([
  verdict.transform((one) => ({ verifications: [one] })),
  z.strictObject({
    verifications: z
      .array(verdict)
      .min(1)
      .max(VERDICTS_MAX)
      .refine(
        (many) => new Set(many.map((one) => one.partnerBillId)).size === many.length,
        'names a bill twice',
      ),
  }),
]);

export function verifyBillsRoute({ store, wake }: Engine): RequestHandler {
  return async (request, response) => {
    const { verifications } = readBody(request, verificationsBody);
    response.json(await verifyBills(store, verifications, operatorOf(request), wake));
  };
}
