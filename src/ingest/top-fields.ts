/** The fields of a push beside its stations: the control totals, and nothing else (ING-9, DEC-17). */
import type { ControlTotals } from '../domain/push-outcome.ts';
import { TOTAL_FIELDS } from '../domain/pushed-fields.ts';
import { type RawValue, RepeatedValue, showRaw } from '../domain/raw-value.ts';
import { pointerTo } from '../domain/refusal.ts';
import { Problem } from '../http/problem.ts';

export class TopFields {
  readonly #strict: boolean;
  readonly #query: ControlTotals;
  #count: number | null = null;
  #amount: string | null = null;
  #ignoredCount = 0;

  /** @param query the totals that the request's query has */
  constructor(strict: boolean, query: ControlTotals) {
    this.#strict = strict;
    this.#query = query;
  }

  /** Of body and query. @throws Problem 400 where they have different ones: neither is preferred */
  get totals(): ControlTotals {
    return {
      count: same('totalCount', this.#count, this.#query.count),
      amount: same('totalAmount', this.#amount, this.#query.amount),
    };
  }

  get ignoredCount(): number {
    return this.#ignoredCount;
  }

  /** @throws Problem 400 for a total that is none, a field sent twice, and in strict mode for an unknown field */
  take(name: string, value: RawValue): void {
    if (value instanceof RepeatedValue) throw malformed(name, `Send ${name} once: the push names it twice.`);
    if (name === 'totalCount') this.#count = readTotal('totalCount', value) as number | null;
    else if (name === 'totalAmount') this.#amount = readTotal('totalAmount', value) as string | null;
    else if (this.#strict) throw unknownField(name);
    else this.#ignoredCount += 1;
  }
}

function same<Value extends string | number>(
  name: string,
  inBody: Value | null,
  inQuery: Value | null,
): Value | null {
  if (inBody !== null && inQuery !== null && inBody !== inQuery) {
    const both = `the body says ${inBody}, the query ${inQuery}`;
    throw new Problem(400, 'TOTALS_CONFLICT', `Send ${name} once, or the same twice: ${both}.`, {
      members: { pointer: pointerTo('', name), parameter: name },
    });
  }
  return inBody ?? inQuery;
}

function readTotal(name: keyof typeof TOTAL_FIELDS, value: RawValue): string | number | null {
  if (value === null) return null;
  const spec = TOTAL_FIELDS[name];
  const parsed = spec.schema.safeParse(spec.read(value));
  if (!parsed.success) throw malformed(name, `Send ${name} as ${spec.hint}; it was ${showRaw(value)}.`);
  return spec.normalise(parsed.data);
}

function unknownField(name: string): Problem {
  const shown = JSON.stringify(name.slice(0, 40));
  return malformed(
    name,
    `Remove ${shown}: a push has no such field. Known are stations, totalCount, totalAmount.`,
  );
}

function malformed(name: string, detail: string): Problem {
  return new Problem(400, 'MALFORMED_BODY', detail, {
    members: { pointer: pointerTo('', name.slice(0, 100)) },
  });
}
