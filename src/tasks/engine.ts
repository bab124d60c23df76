/** What every part of the engine needs; built once by the composition root. */
import type { Observer } from '../metrics/observer.ts';
import type { Store } from '../store/transaction.ts';
import type { Wake } from './kick.ts';
import type { HandlerRegistry } from './stage-handler.ts';

export interface EngineLimits {
  /** How long a slot is held after its last claim or work transaction (ENG-5). At least 5,000 (ENG-12). */
  readonly slotLeaseMs: number;
  /** How long a turn takes tasks before it goes to the end of the queue (ENG-6). */
  readonly sliceMs: number;
  readonly sliceContendedMs: number;
}

export interface Engine {
  readonly store: Store;
  readonly wake: Wake;
  readonly handlers: HandlerRegistry;
  readonly observer: Observer;
  readonly limits: EngineLimits;
  /** Who this process is, in slots and tasks. */
  readonly worker: string;
  /** Aborted when the process shuts down: nothing new is begun (ENG-11). */
  readonly stopping: AbortSignal;
}
