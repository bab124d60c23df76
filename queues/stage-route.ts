/** What a stage is, as data: no I/O, nothing but names, limits and who is woken next. */
import type { BackOff } from '../src/domain/back-off.ts';
import type { StageName } from '../src/domain/stage.ts';

export interface StageRoute {
  /** Also the name of the BullMQ queue. */
  readonly stage: StageName;
  /** Whose file in `actors/` does the work. */
  readonly actor:
    | 'station'
    | 'diff'
    | 'account-shard'
    | 'snapshot'
    | 'payment-submit'
    | 'lock-release'
    | 'session-cleanup';
  readonly taskType: string;
  /** A partner's slots at this stage unless it is configured otherwise (ENG-5). */
  readonly capDefault: number;
  /** Tasks taken in one claim (ENG-8). */
  readonly claimSizeMax: number;
  readonly attemptsMax: number;
  readonly backOff: BackOff;
  /** Stages woken when work of this one has committed (ENG-7). */
  readonly wakes: readonly StageName[];
}
