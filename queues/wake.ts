/**
 * Waking slots through BullMQ (ENG-6, ENG-7). One queue per stage; a job carries stage, partner and slot, nothing else.
 * `keepLastIfActive`: at most one job of a slot runs and one waits; what is woken while it runs follows after it, at the
 * end of the queue.
 */
import { type ConnectionOptions, Queue } from 'bullmq';
import type { StageName } from '../src/domain/stage.ts';
import { route } from './route.ts';

export interface WakeJob {
  readonly stage: StageName;
  readonly partnerOrgId: string;
  readonly slotNo: number;
}

export interface WakeOptions {
  readonly connection: ConnectionOptions;
  /** A hash tag in braces, so that Redis Cluster keeps all keys together. */
  readonly prefix: string;
  readonly kickEnabled: boolean;
  /** The share of kicks that are let through, 0 … 1; the scan finds the rest. */
  readonly kickShare: number;
  readonly onKick: (stage: StageName, outcome: 'sent' | 'failed' | 'off') => void;
  readonly onError: (where: string, error: unknown) => void;
}

/** The id under which all wakes of a slot merge, but those that carry a fence. */
export function plainWakeId(slot: WakeJob): string {
  return `${slot.partnerOrgId}/${slot.slotNo}`;
}

const JOB_NAME = 'wake';
/** A kick wakes the first slot; a holder with a full claim wakes the next. */
const FIRST_SLOT = 1;

/** The queues of all stages, as one thing that wakes. */
export class Waker {
  readonly #queues: ReadonlyMap<StageName, Queue<WakeJob>>;
  readonly #options: WakeOptions;

  constructor(options: WakeOptions) {
    this.#options = options;
    this.#queues = new Map(route.map(({ stage }) => [stage, this.#open(stage)]));
  }

  get queues(): readonly Queue<WakeJob>[] {
    return [...this.#queues.values()];
  }

  /** After a commit. A refused, failed or lost kick is fine: the scan finds the work. Never throws, never waits. */
  kick(stage: StageName, partnerOrgId: string): void {
    if (!this.#options.kickEnabled || Math.random() >= this.#options.kickShare) {
      this.#options.onKick(stage, 'off');
      return;
    }
    this.wakeSlot({ stage, partnerOrgId, slotNo: FIRST_SLOT }).then(
      () => this.#options.onKick(stage, 'sent'),
      () => this.#options.onKick(stage, 'failed'),
    );
  }

  async wakeSlot(slot: WakeJob): Promise<void> {
    await this.#add(slot, plainWakeId(slot));
  }

  /** Under an id of its own, which a dead worker's unfinished job cannot swallow (ENG-6). */
  async wakeSlotAtFence(slot: WakeJob, fence: string): Promise<void> {
    await this.#add(slot, `${plainWakeId(slot)}/${fence}`);
  }

  /** Whether others wait for a turn at this stage (ENG-6: then slices are short). */
  async isContended(stage: StageName): Promise<boolean> {
    return (await this.#queue(stage).getWaitingCount()) > 0;
  }

  async close(): Promise<void> {
    await Promise.all(this.queues.map((queue) => queue.close()));
  }

  async #add(slot: WakeJob, deduplicationId: string): Promise<void> {
    const { stage, partnerOrgId, slotNo } = slot;
    await this.#queue(stage).add(
      JOB_NAME,
      { stage, partnerOrgId, slotNo },
      {
        deduplication: { id: deduplicationId, keepLastIfActive: true },
        removeOnComplete: true,
        removeOnFail: true,
      },
    );
  }

  #queue(stage: StageName): Queue<WakeJob> {
    const queue = this.#queues.get(stage);
    if (queue === undefined) throw new Error(`No queue for stage ${stage}`);
    return queue;
  }

  #open(stage: StageName): Queue<WakeJob> {
    const queue = new Queue<WakeJob>(stage, {
      connection: this.#options.connection,
      prefix: this.#options.prefix,
    });
    queue.on('error', (error) => this.#options.onError(`queue ${stage}`, error));
    return queue;
  }
}
