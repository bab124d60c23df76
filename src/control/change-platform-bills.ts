/** POST /admin/api/v1/platform-bills: our own bills of a partner's stations, created or changed, and deleted; all or none (DIF-4, DEC-7, DEC-15). */
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { AMOUNT_PATTERN, toDecimals } from '../domain/as-written.ts';
import { FIRST_BILL_MONTH, isMonth } from '../domain/month.ts';
import { traceIdOf } from '../http/trace.ts';
import type { Engine } from '../tasks/engine.ts';
import { operatorOf } from './authenticate.ts';
import * as fields from './payment-fields.ts';
import type { NamedWish } from './platform-world.ts';
import { readBody } from './read-body.ts';
import { isId } from './reply-list.ts';
import { writePlatformBills } from './write-platform-bills.ts';

/** Of a request; a message of the difference stage has as many. */
const BILLS_MAX = 500;

const stationMonth = {
  platformStationId: fields.id,
  billYearMonth: z
    .string()
    .refine((text) => isMonth(text) && text >= FIRST_BILL_MONTH, 'must be a month from 2010-01 on, YYYY-MM'),
};
const amount = z
  .string('must be an amount as a string, such as "120.00"')
  .refine((text) => AMOUNT_PATTERN.test(text), 'must be an amount ≥ 0 with at most two decimals')
  .transform((text) => toDecimals(text, 2));
/** Left out is null: a bill is written as it is given, nothing of an earlier one stays. */
const optionalAmount = amount.nullable().default(null);

const bill = z.strictObject({
  ...stationMonth,
  settlementAmount: optionalAmount,
  rent: amount,
  preRent: optionalAmount,
  freezeAmount: optionalAmount,
  deductionAmount: optionalAmount,
});

export const platformBillsBody = z
  .strictObject({
    partnerOrgId: fields.id,
    bills: z.array(bill).default([]),
    deletions: z.array(z.strictObject(stationMonth)).default([]),
  })
  .superRefine((body, context) => {
    const count = body.bills.length + body.deletions.length;
    if (count === 0 || count > BILLS_MAX) {
      const message = `must name 1 to ${BILLS_MAX} bills, in bills and deletions`;
      context.addIssue({ code: 'custom', message });
      return;
    }
    const first = new Map<string, string>();
    for (const { pointer, platformStationId, billYearMonth } of named(body)) {
      // This is asked beside the checks of each field, not after them.
      if (!isId(platformStationId)) continue;
      const key = `${BigInt(platformStationId)}/${billYearMonth}`;
      const path = pointer.slice(1).split('/');
      if (first.has(key))
        context.addIssue({ code: 'custom', path, message: `is the station and month of ${first.get(key)}` });
      else first.set(key, pointer);
    }
  });

export function changePlatformBillsRoute({ store, wake }: Engine): RequestHandler {
  return async (request, response) => {
    const body = readBody(request, platformBillsBody);
    const { bills, deletions, partnerOrgId } = body;
    const wishes: NamedWish[] = [
      ...bills.map(({ platformStationId, billYearMonth, ...amounts }, index) => ({
        pointer: `/bills/${index}`,
        platformStationId: canonical(platformStationId),
        billYearMonth,
        amounts,
      })),
      ...deletions.map(({ platformStationId, billYearMonth }, index) => ({
        pointer: `/deletions/${index}`,
        platformStationId: canonical(platformStationId),
        billYearMonth,
        amounts: null,
      })),
    ];
    const order = {
      partnerOrgId: canonical(partnerOrgId),
      wishes,
      actor: operatorOf(request),
      traceId: traceIdOf(request),
    };
    response.json(await writePlatformBills(store, order, wake));
  };
}

interface Named {
  readonly platformStationId: string;
  readonly billYearMonth: string;
}

function named(body: { readonly bills: readonly Named[]; readonly deletions: readonly Named[] }) {
  const pointed = (list: 'bills' | 'deletions') =>
    body[list].map((one, index) => ({ ...one, pointer: `/${list}/${index}` }));
  return [...pointed('bills'), ...pointed('deletions')];
}

/** `007` is the station 7. */
function canonical(id: string): string {
  return String(BigInt(id));
}
