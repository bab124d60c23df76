/** The life of a payment submit in words: sessions, versions, phases, and the identity of a phase's task (DEC-10, PAY-2). */

export type SessionMode = 'NEW' | 'REVISE';
/** DEC-10; `SUBMIT_FAILED` may be submitted again, `PUBLISHED` and `CANCELLED` are ends. */
export const SESSION_STATUSES = [
  'SELECTING',
  'SUBMITTING',
  'SUBMIT_FAILED',
  'PUBLISHING',
  'PUBLISHED_LOCK_SYNCING',
  'PUBLISHED',
  'CANCELLED',
] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];
/** DEC-10. */
export const VERSION_STATUSES = ['BUILDING', 'BUILD_FAILED', 'BUILT', 'PUBLISHED', 'CANCELLED'] as const;
export type VersionStatus = (typeof VERSION_STATUSES)[number];
export type BatchStatus = 'INIT' | 'RUNNING' | 'FAILED' | 'DONE' | 'CANCELLED';

/** The phases that are tasks of the stage `payment-submit`, in order. */
export const SUBMIT_PHASES = ['BUILD', 'PUBLISH', 'LOCK_ACTIVATE', 'AUDIT_PLAN'] as const;
export type SubmitPhase = (typeof SUBMIT_PHASES)[number];
/** All of a submit's batches; they are made together, as INIT (LCK-12, PAY-2). */
export const BATCH_PHASES = [...SUBMIT_PHASES, 'LOCK_RELEASE'] as const;
export type BatchPhase = (typeof BATCH_PHASES)[number];

/** What a phase's task says of itself: which version, by which attempt of which session. */
export interface SubmitTaskData {
  readonly phase: SubmitPhase;
  readonly paymentOrderVersionId: string;
  readonly sessionId: string;
  readonly submitAttempt: number;
  readonly submitToken: string;
}

export function submitTaskKey(paymentOrderVersionId: string, phase: SubmitPhase): string {
  return `PAYMENT_SUBMIT:${paymentOrderVersionId}:${phase}`;
}

export function submitTaskCode(paymentOrderVersionId: string, phase: SubmitPhase): string {
  return `RIPPS:${paymentOrderVersionId}:${phase}`;
}

/** PAY-1: one live REVISE of an order. */
export function reviseKey(paymentOrderId: string): string {
  return `REVISE:${paymentOrderId}`;
}

/** A session that may still be filled, or submitted again. */
export function takesSelection(status: SessionStatus): boolean {
  return status === 'SELECTING' || status === 'SUBMIT_FAILED';
}

/** A submit that has not been published and can still be given up (PAY-7). */
export function isUnpublished(status: VersionStatus): status is 'BUILDING' | 'BUILT' {
  return status === 'BUILDING' || status === 'BUILT';
}
