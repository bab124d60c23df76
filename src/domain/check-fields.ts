/** One object of a push against its fields: all that is right is kept, the first that is wrong refuses it (ING-3). */
import type { FieldSpec, FieldValue } from './pushed-fields.ts';
import { type RawFields, type RawValue, RepeatedValue, rawDigestText, showRaw } from './raw-value.ts';
import { pointerTo, type Refusal, refusal } from './refusal.ts';

export interface CheckedFields<Name extends string> {
  /** Normalised; null where absent or wrong. */
  readonly values: Record<Name, FieldValue>;
  readonly refusal: Refusal | null;
  /** Unknown fields that were ignored, since the push is not strict (DEC-1). */
  readonly ignoredCount: number;
  /** The same content gives the same text, however it was written. */
  readonly content: string;
}

export interface FieldRules<Name extends string> {
  readonly fields: Readonly<Record<Name, FieldSpec>>;
  /** What an object with these fields is called in a sentence. */
  readonly noun: string;
  readonly strict: boolean;
}

/** @param pointer where the object stands in the body */
export function checkFields<Name extends string>(
  raw: RawFields,
  pointer: string,
  rules: FieldRules<Name>,
): CheckedFields<Name> {
  const values = {} as Record<Name, FieldValue>;
  const wrong: [string, unknown][] = [];
  let first: Refusal | null = null;
  for (const name of Object.keys(rules.fields) as Name[]) {
    const spec = rules.fields[name];
    const given = raw.get(name);
    const value = readValue(spec, given);
    values[name] = value === WRONG ? null : value;
    if (value !== WRONG) continue;
    first ??= refusal('INVALID_FIELD', pointerTo(pointer, name), faultSentence(name, spec, given));
    if (given !== undefined) wrong.push([name, rawDigestText(given)]);
  }
  const unknown = unknownNames(raw, rules);
  if (rules.strict && unknown.length > 0) {
    first ??= refusal('INVALID_FIELD', pointerTo(pointer, unknown[0]!), unknownSentence(unknown, rules));
    for (const name of unknown) wrong.push([name, rawDigestText(raw.get(name)!)]);
  }
  return {
    values,
    refusal: first,
    ignoredCount: rules.strict ? 0 : unknown.length,
    content: JSON.stringify(wrong.length === 0 ? Object.values(values) : [Object.values(values), wrong]),
  };
}

const WRONG = Symbol('wrong');

/** Absent and null are the same, and no value, where the field is not required (DEC-1). */
function readValue(spec: FieldSpec, given: RawValue | undefined): FieldValue | typeof WRONG {
  if (given === undefined || given === null) return spec.required ? WRONG : spec.absent;
  const parsed = spec.schema.safeParse(spec.read(given));
  return parsed.success ? spec.normalise(parsed.data) : WRONG;
}

function faultSentence(name: string, spec: FieldSpec, given: RawValue | undefined): string {
  if (given === undefined || given === null) return `Add ${name}: it is required, ${spec.hint}.`;
  if (given instanceof RepeatedValue) return `Send ${name} once: the same object names it twice.`;
  return `Send ${name} as ${spec.hint}; it was ${showRaw(given)}.`;
}

function unknownNames(raw: RawFields, rules: FieldRules<string>): string[] {
  const unknown: string[] = [];
  for (const name of raw.keys()) if (!Object.hasOwn(rules.fields, name)) unknown.push(name);
  return unknown.sort();
}

function unknownSentence(unknown: readonly string[], rules: FieldRules<string>): string {
  const named = unknown.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 40)));
  const more = unknown.length > named.length ? ` and ${unknown.length - named.length} more` : '';
  return `Remove ${named.join(', ')}${more}: ${rules.noun} has no such field. Known are ${Object.keys(rules.fields).join(', ')}.`;
}
