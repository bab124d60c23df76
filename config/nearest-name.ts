/** For a name that is not known: the known one that was probably meant. */

/** More changes than this and it was something else. */
const CHANGES_MAX = 4;

/** @returns null where none is near */
export function nearestName(given: string, known: readonly string[]): string | null {
  const near = known.map((name) => ({ name, changes: countChanges(given, name) }));
  const best = near.reduce((least, one) => (one.changes < least.changes ? one : least));
  return best.changes <= CHANGES_MAX ? best.name : null;
}

/** Letters to insert, remove or replace (Levenshtein), row by row. */
function countChanges(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let at = 1; at <= to.length; at++) {
      const replaced = above[at - 1]! + (from[row - 1] === to[at - 1] ? 0 : 1);
      current.push(Math.min(replaced, above[at]! + 1, current[at - 1]! + 1));
    }
    above = current;
  }
  return above.at(-1)!;
}
