/** One object of a push against its fields: all that is right is kept, the first that is wrong refuses it (ING-3). */
import type { FieldSpec, FieldValue } from './pushed-fields.ts';
import { type RawFields, type RawValue, RepeatedValue, rawDigestText, showRaw } from './raw-value.ts';
import { pointerTo, type Refusal, refusal } from './refusal.ts';

export interface CheckedFields<Name extends string> {
  /** Normalised; null where absent or wrong. */
  readonly values: Record<Name, FieldValue>;
  /** The same as a JSON array, in the order of the fields. */
  readonly valuesJson: string;
  readonly refusal: Refusal | null;
  /** Unknown fields that were ignored, since the push is not strict (DEC-1). */
  readonly ignoredCount: number;
  /** The same content gives the same text, however it was written. */
  readonly content: string;
}

export class FieldRules<Name extends string> {
  /** What an object with these fields is called in a sentence. */
  readonly noun: string;
  readonly specs: ReadonlyMap<string, FieldSpec>;
  readonly entries: readonly (readonly [Name, FieldSpec])[];

  constructor(noun: string, fields: Readonly<Record<Name, FieldSpec>>) {
    this.noun = noun;
    this.entries = Object.entries(fields) as [Name, FieldSpec][];
    this.specs = new Map(this.entries);
  }
}

/** @param pointer where the object stands in the body */
export function checkFields<Name extends string>(
  raw: RawFields,
  pointer: string,
  rules: FieldRules<Name>,
  strict: boolean,
): CheckedFields<Name> {
  const values = {} as Record<Name, FieldValue>;
  const list: FieldValue[] = [];
  const wrong: [string, unknown][] = [];
  let first: Refusal | null = null;
  let knownCount = 0;
  for (const [name, spec] of rules.entries) {
    const given = raw.get(name);
    if (given !== undefined) knownCount += 1;
    const value = readValue(spec, given);
    values[name] = value === WRONG ? null : value;
    list.push(values[name]);
    if (value !== WRONG) continue;
    first ??= refusal('INVALID_FIELD', pointerTo(pointer, name), faultSentence(name, spec, given));
    if (given !== undefined) wrong.push([name, asRead(spec, given)]);
  }
  const unknown = knownCount === raw.size ? NOTHING : unknownNames(raw, rules.specs);
  if (strict && unknown.length > 0) {
    first ??= refusal('INVALID_FIELD', pointerTo(pointer, unknown[0]!), unknownSentence(unknown, rules));
    for (const name of unknown) wrong.push([name, rawDigestText(raw.get(name)!)]);
  }
  const valuesJson = JSON.stringify(list);
  return {
    values,
    valuesJson,
    refusal: first,
    ignoredCount: strict ? 0 : unknown.length,
    content: wrong.length === 0 ? valuesJson : `${valuesJson}${JSON.stringify(wrong)}`,
  };
}

const NOTHING: readonly string[] = [];
const WRONG = Symbol('wrong');

/** Absent and null are the same, and no value, where the field is not required (DEC-1). */
function readValue(spec: FieldSpec, given: RawValue | undefined): FieldValue | typeof WRONG {
  if (given === undefined || given === null) return spec.required ? WRONG : spec.absent;
  const parsed = spec.schema.safeParse(spec.read(given));
  return parsed.success ? spec.normalise(parsed.data) : WRONG;
}

/** A wrong amount is the same content as a text and as a number, since that is how it would be judged (DEC-17). */
function asRead(spec: FieldSpec, given: RawValue): unknown {
  const read = spec.read(given);
  return typeof read === 'string' ? read : rawDigestText(given);
}

function faultSentence(name: string, spec: FieldSpec, given: RawValue | undefined): string {
  if (given === undefined || given === null) return `Add ${name}: it is required, ${spec.hint}.`;
  if (given instanceof RepeatedValue) return `Send ${name} once: the same object names it twice.`;
  return `Send ${name} as ${spec.hint}; it was ${showRaw(given)}.`;
}

function unknownNames(raw: RawFields, known: ReadonlyMap<string, FieldSpec>): readonly string[] {
  return [...raw.keys()].filter((name) => !known.has(name)).sort();
}

function unknownSentence(unknown: readonly string[], rules: FieldRules<string>): string {
  const named = unknown.slice(0, 5).map((name) => JSON.stringify(name.slice(0, 40)));
  const more = unknown.length > named.length ? ` and ${unknown.length - named.length} more` : '';
  const known = [...rules.specs.keys()].join(', ');
  return `Remove ${named.join(', ')}${more}: ${rules.noun} has no such field. Known are ${known}.`;
}
