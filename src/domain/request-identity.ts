/** The identity of a request (ING-2): `Idempotency-Key`, or `X-Request-Id` as its alias. */
const KEY_PATTERN = /^[\x21-\x7e]{1,200}$/;

export type IdentityReading =
  | { readonly key: string }
  | {
      readonly fault: 'IDENTITY_MISSING' | 'IDENTITY_CONFLICT' | 'IDENTITY_MALFORMED';
      readonly detail: string;
    };

/** Each header as it came; undefined where it was not sent. */
export function readIdentity(
  idempotencyKey: string | undefined,
  requestId: string | undefined,
): IdentityReading {
  const given = [idempotencyKey, requestId]
    .map((header) => header?.trim())
    .filter((header) => header !== undefined && header !== '') as string[];
  const [first, second] = given;
  if (first === undefined) {
    return {
      fault: 'IDENTITY_MISSING',
      detail:
        'Send an Idempotency-Key header: a name of your own for this push, the same when you send it again.',
    };
  }
  if (second !== undefined && second !== first) {
    return {
      fault: 'IDENTITY_CONFLICT',
      detail: 'Idempotency-Key and X-Request-Id differ; send one of them, or both with the same value.',
    };
  }
  if (!KEY_PATTERN.test(first)) {
    return {
      fault: 'IDENTITY_MALFORMED',
      detail: 'Send an Idempotency-Key of 1 to 200 printable ASCII characters without blanks.',
    };
  }
  return { key: first };
}

/** How people see it; what is unique is the pair (DEC-16). */
export function shownIdentity(orgCode: string, key: string): string {
  return `${orgCode}_${key}`;
}
