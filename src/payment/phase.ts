/** What the phases of a submit need of the process they run in. */
import type { Kick } from '../tasks/kick.ts';

export interface PhaseNeeds {
  readonly kick: Kick;
}
