/** Why a pushed row was refused: a closed set of codes, each with a pointer and a sentence that says what to change (ING-3). */
import { Place } from './place.ts';

/** In their order of precedence: a row's first fitting reason counts (DEC-16). */
export const REFUSAL_REASONS = [
  'INVALID_FIELD',
  'UNKNOWN_STATION',
  'DUPLICATE_IN_PUSH',
  'PAYMENT_LOCKED',
  'PAYMENT_CHECK_UNAVAILABLE',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export interface Refusal {
  readonly reason: RefusalReason;
  /** RFC 6901, into the body that was sent; at most 200 characters. */
  readonly pointer: string;
  /** At most 500 characters. */
  readonly message: string;
}

export const POINTER_LENGTH_MAX = 200;
export const MESSAGE_LENGTH_MAX = 500;

/** Cuts what would not fit its column, so that the first reply and a replay from the rows are the same text. */
export function refusal(reason: RefusalReason, pointer: string, message: string): Refusal {
  return { reason, pointer: fitPointer(pointer), message: cut(message, MESSAGE_LENGTH_MAX) };
}

/** The place of a refused row and the funnel stage that it did not reach (DEC-16, COV-1). */
export function placeOfRefusal(reason: RefusalReason): { place: Place; leftAt: 'valid' | 'unlocked' } {
  return reason === 'PAYMENT_LOCKED' || reason === 'PAYMENT_CHECK_UNAVAILABLE'
    ? { place: Place.LOCKED, leftAt: 'unlocked' }
    : { place: Place.INVALID, leftAt: 'valid' };
}

/** One more step of a JSON pointer (RFC 6901). */
export function pointerTo(parent: string, step: string | number): string {
  return `${parent}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A pointer that is too long points at the parent instead: half a pointer would point nowhere. */
function fitPointer(pointer: string): string {
  let fitting = pointer.isWellFormed() ? pointer : pointer.slice(0, pointer.lastIndexOf('/'));
  while (lengthOf(fitting) > POINTER_LENGTH_MAX) fitting = fitting.slice(0, fitting.lastIndexOf('/'));
  return fitting;
}

function cut(text: string, lengthMax: number): string {
  const wellFormed = text.toWellFormed();
  return lengthOf(wellFormed) <= lengthMax
    ? wellFormed
    : `${[...wellFormed].slice(0, lengthMax - 1).join('')}…`;
}

/** In characters as the database counts them: code points. */
export function lengthOf(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff && at + 1 < text.length) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) pairs += 1;
    }
  }
  return text.length - pairs;
}
