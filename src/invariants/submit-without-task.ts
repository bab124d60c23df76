import { walk } from '../store/invariants/key-ranges.ts';
import { listSubmitsWithoutTask } from '../store/invariants/submits-without-task.ts';
import { ORDER_VERSIONS } from '../store/invariants/walked-keys.ts';
import type { InvariantRule } from './rule.ts';

export const submitWithoutTask: InvariantRule = {
  code: 'SUBMIT_WITHOUT_TASK',
  targetType: 'PAYMENT_ORDER_VERSION',
  title: 'A payment submit that is under way has the task of its phase',
  looksFor:
    'Versions that are BUILDING or BUILT, or published with locks to activate or an audit to plan, without an open task for it',
  why: 'Nobody goes on with it: its session stays as it is, and its bills stay reserved or can never be paid',
  whatToDo:
    'Cancel the session of an unpublished version (POST /admin/api/v1/payment-sessions/{id}/cancel) and submit anew; report a published one as a fault of ours',
  find: (reader) => walk(reader, ORDER_VERSIONS, listSubmitsWithoutTask),
};
