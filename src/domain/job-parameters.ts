/**
 * The forms in which the parameters of a run may come: plain, in `{"data": {…}}`, or in `data` as a JSON text (LCK-7).
 * What cannot be read is a fault, never "nothing given": a slip of the pen must not become a run of all that is due.
 */

export type ReadParameters = { readonly fault: string } | { readonly parameters: unknown };

/** Members beside `data` count too; the same one twice is a fault. */
export function readParameters(body: unknown): ReadParameters {
  if (!isObject(body) || !('data' in body)) return { parameters: body };
  const { data, ...beside } = body;
  const inner = typeof data === 'string' ? parsed(data) : data;
  if (!isObject(inner)) return { fault: 'data is neither an object nor the JSON text of one' };
  const twice = Object.keys(beside).find((name) => name in inner);
  if (twice !== undefined) return { fault: `${twice} is given twice, in data and beside it` };
  return { parameters: { ...beside, ...inner } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined: no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
