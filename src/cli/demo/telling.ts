/** What every step of the demo's story has at hand. */
import type { LiveLines } from '../live-lines.ts';
import type { World } from './world.ts';

export interface Telling {
  readonly world: World;
  readonly lines: LiveLines;
  readonly say: (line: string) => void;
}
