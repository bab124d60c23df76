/** What a pushed field can be before it is checked: numbers keep their text, because amounts are judged as written (DEC-17). */

export class JsonNumber {
  /** As the partner wrote it, digits, sign, exponent and all. */
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** An object or array where a field should be; what is in it decides nothing, so it is not kept. */
export class NestedValue {
  readonly kind: 'object' | 'array';
  constructor(kind: 'object' | 'array') {
    this.kind = kind;
  }
}

/** A field that its object names twice: neither value is preferred. */
export class RepeatedValue {}

export type RawValue = string | boolean | null | JsonNumber | NestedValue | RepeatedValue;

/** The fields of one object as they came, by name. A Map, so that no name of a partner's reaches a prototype. */
export type RawFields = ReadonlyMap<string, RawValue>;

const SHOWN_LENGTH_MAX = 40;

/** For sentences to people: what came, short, and never more than one line of it. */
export function showRaw(raw: RawValue | undefined): string {
  if (raw === undefined) return 'nothing';
  if (raw instanceof JsonNumber) return shorten(raw.text);
  if (raw instanceof NestedValue) return raw.kind === 'object' ? 'an object' : 'an array';
  if (raw instanceof RepeatedValue) return 'sent twice';
  return shorten(typeof raw === 'string' ? JSON.stringify(raw.slice(0, SHOWN_LENGTH_MAX)) : String(raw));
}

/** For the content digest of what was refused: the same content gives the same text, another type another. */
export function rawDigestText(raw: RawValue): unknown {
  if (raw instanceof JsonNumber) return { number: raw.text };
  if (raw instanceof NestedValue) return { nested: raw.kind };
  if (raw instanceof RepeatedValue) return { repeated: true };
  return raw;
}

function shorten(text: string): string {
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX)}…`;
}
