/** The pieces that descriptions are put together from, and how a schema that validates becomes one that describes (ING-10). */
import { z } from 'zod';

export type Json = Record<string, unknown>;

/** What a body may look like before it is read: transforms and refinements leave no trace. */
export function jsonSchema(schema: z.ZodType): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}

export const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

export const reply = (description: string, name: string): Json => ({
  description,
  content: { 'application/json': { schema: ref(name) } },
});

export const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string', minLength: 1 },
});

export const query = (name: string, description: string, schema: Json = { type: 'string' }): Json => ({
  name,
  in: 'query',
  description,
  schema,
});

export const pathParameter = (name: string): Json => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string' },
});

export const paging = (): Json[] => [
  query('cursor', 'The page before gave it as nextCursor.'),
  query('limit', 'At most so many.', { type: 'integer', minimum: 1 }),
];

export function problems(descriptions: Readonly<Record<number, string>>): Json {
  return Object.fromEntries(
    Object.entries(descriptions).map(([status, description]) => [
      status,
      { description, content: { 'application/problem+json': { schema: ref('Problem') } } },
    ]),
  );
}
