/** The control totals as query parameters: the only place for them beside NDJSON and CSV, and one of two beside JSON (ING-9). */
import type { Request } from 'express';
import type { ControlTotals } from '../domain/push-outcome.ts';
import { TOTAL_FIELDS } from '../domain/pushed-fields.ts';
import { malformed } from '../http/query.ts';

/** @throws Problem 400, also for an empty one: a total that was meant and got lost would be a check that is none */
export function readQueryTotals(request: Request): ControlTotals {
  return {
    count: readTotal(request, 'totalCount') as number | null,
    amount: readTotal(request, 'totalAmount') as string | null,
  };
}

function readTotal(request: Request, name: keyof typeof TOTAL_FIELDS): string | number | null {
  const given = request.query[name];
  if (given === undefined) return null;
  if (typeof given !== 'string') throw malformed(name, 'once');
  const spec = TOTAL_FIELDS[name];
  const parsed = spec.schema.safeParse(spec.read(spec.cell(given)));
  if (!parsed.success) throw malformed(name, `as ${spec.hint}`);
  return spec.normalise(parsed.data);
}
