/**
 * How many pushes of one partner are in their accepting transaction at once: the others wait, spooled, without a
 * database connection, so that one partner's large pushes never take all of them from the rest.
 */
export class AcceptGate {
  readonly #atOnceMax: number;
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /** Runs `work` as soon as the partner has room; in the order in which it was asked. */
  async run<T>(partnerOrgId: string, work: () => Promise<T>): Promise<T> {
    await this.#enter(partnerOrgId);
    try {
      return await work();
    } finally {
      this.#leave(partnerOrgId);
    }
  }

  async #enter(partnerOrgId: string): Promise<void> {
    const running = this.#running.get(partnerOrgId) ?? 0;
    if (running < this.#atOnceMax) {
      this.#running.set(partnerOrgId, running + 1);
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.set(partnerOrgId, [...(this.#waiting.get(partnerOrgId) ?? []), turn.resolve]);
    await turn.promise;
  }

  /** The place goes to the next who waits, or is given up. */
  #leave(partnerOrgId: string): void {
    const [next, ...rest] = this.#waiting.get(partnerOrgId) ?? [];
    if (rest.length > 0) this.#waiting.set(partnerOrgId, rest);
    else this.#waiting.delete(partnerOrgId);
    if (next !== undefined) {
      next();
      return;
    }
    const running = this.#running.get(partnerOrgId)! - 1;
    if (running > 0) this.#running.set(partnerOrgId, running);
    else this.#running.delete(partnerOrgId);
  }
}
