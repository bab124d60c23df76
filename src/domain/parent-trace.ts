/** The trace that a piece of work follows from: its push's, handed on from task to task in their data (ING-8). */

/** What the data of a task of the push chain carries; left out where the work comes from no push. */
export interface Traced {
  readonly parentTraceId?: string;
}

export function parentTraceOf(taskData: unknown): string | null {
  const trace = (taskData as Traced | null)?.parentTraceId;
  return typeof trace === 'string' ? trace : null;
}

/** The same trace for what follows. */
export function tracedBy(parentTraceId: string | null | undefined): Traced {
  return parentTraceId == null ? {} : { parentTraceId };
}
