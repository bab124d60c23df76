/** A body, read strictly: what cannot be understood is an error, and nothing is done (ENG-4). */
import express, { type RequestHandler } from 'express';
import type { z } from 'zod';
import { Problem } from '../http/problem.ts';

const BODY_BYTES_MAX = 256 * 1024;

/** Whatever its content type says: a body that is not looked at is a wish that is passed over in silence. */
export function parseJsonBodies(): RequestHandler {
  return express.json({ limit: BODY_BYTES_MAX, type: () => true });
}

/** A missing body counts as `{}`. @throws Problem 400 that names each fault by its JSON pointer */
export function readBody<Schema extends z.ZodType>(
  request: { readonly body?: unknown },
  schema: Schema,
): z.infer<Schema> {
  const parsed = schema.safeParse(request.body ?? {});
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => ({
    pointer: issue.path.map((step) => `/${String(step)}`).join(''),
    message: issue.message,
  }));
  const detail = faults.map(({ pointer, message }) => (pointer === '' ? message : `${pointer}: ${message}`));
  throw new Problem(400, 'MALFORMED_BODY', `Nothing was done. ${detail.join('; ')}`, { members: { faults } });
}
