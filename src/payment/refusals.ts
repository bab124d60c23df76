/** Refusals that several steps of the payment business share. */
import { Problem } from '../http/problem.ts';

export function refuse(code: string, detail: string, members: Record<string, unknown> = {}): Problem {
  return new Problem(409, code, detail, { members });
}

export function noSuchSession(id: string): Problem {
  return new Problem(404, 'NO_SUCH_SESSION', `There is no payment session ${id.slice(0, 40)}.`);
}

export function noSuchOrder(id: string): Problem {
  return new Problem(404, 'NO_SUCH_ORDER', `There is no payment order ${id.slice(0, 40)}.`);
}

export function noSuchPartnerOrg(id: string): Problem {
  return new Problem(404, 'NO_SUCH_PARTNER', `There is no partner ${id.slice(0, 40)}.`);
}
