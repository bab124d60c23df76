/** A body, read strictly: what cannot be understood is an error, and nothing is done (ENG-4). */
import express, { type RequestHandler } from 'express';
import type { z } from 'zod';
import { Problem } from '../http/problem.ts';

const BODY_BYTES_MAX = 256 * 1024;

interface Fault {
  readonly pointer: string;
  readonly message: string;
}

/** Whatever its content type says: a body that is not looked at is a wish that is passed over in silence. */
export function parseJsonBodies(): RequestHandler {
  return express.json({ limit: BODY_BYTES_MAX, type: () => true, reviver: keepAmount });
}

/** Members that may be JSON numbers and are amounts. */
const AMOUNTS: ReadonlySet<string> = new Set(['amount', 'tolerance']);

/** DEC-17: an amount is judged as it was written; a number that was parsed says nothing of exponent or further decimals. */
function keepAmount(name: string, value: unknown, written?: { readonly source?: string }): unknown {
  return typeof value === 'number' && AMOUNTS.has(name) ? (written?.source ?? value) : value;
}

/** A missing body counts as `{}`. @throws Problem 400 that names each fault by its JSON pointer */
export function readBody<Schema extends z.ZodType>(
  request: { readonly body?: unknown },
  schema: Schema,
): z.infer<Schema> {
  const body = request.body ?? {};
  const broken = findBrokenText(body);
  if (broken !== null) {
    throw malformedBody([{ pointer: broken, message: 'has half a surrogate pair, which is no character' }]);
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => ({
    pointer: issue.path.map((step) => `/${String(step)}`).join(''),
    message: issue.message,
  }));
  throw malformedBody(faults);
}

function malformedBody(faults: readonly Fault[]): Problem {
  const detail = faults.map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`));
  return new Problem(400, 'MALFORMED_BODY', `Nothing was done. ${detail.join('; ')}`, {
    members: { faults },
  });
}

/**
 * Where half of a surrogate pair (`"\\ud800"`) stands, in a name or a value: it is no text, the database refuses it within
 * JSON and alters it elsewhere. Without recursion, since the sender says how deep a body is.
 */
function findBrokenText(body: unknown): string | null {
  const left: { readonly pointer: string; readonly value: unknown }[] = [{ pointer: '', value: body }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { pointer, value } = next;
    if (typeof value === 'string' && !value.isWellFormed()) return pointer;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, part] of Object.entries(value)) {
      if (!name.isWellFormed()) return pointer;
      left.push({ pointer: `${pointer}/${name}`, value: part });
    }
  }
  return null;
}
