/** Places by name, as `place IN (…)` lists them. */
import { Place, type PlaceName } from '../domain/place.ts';

export function placesNamed(names: readonly PlaceName[]): string {
  return names.map((name) => Place[name]).join(', ');
}
