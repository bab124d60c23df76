/** Processes that a test starts, kills and freezes. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { SlotKey } from '../../src/store/slots.ts';

export interface ChildOrder {
  readonly databaseUrl: string;
  readonly worker: string;
  readonly slot: SlotKey;
  readonly slotLeaseMs?: number;
  readonly waitTimeoutS?: number;
}

export type ChildReport =
  | { readonly at: 'work'; readonly taskCode: string }
  | { readonly at: 'end'; readonly outcome: string; readonly trouble: readonly string[] };

export interface Child {
  readonly process: ChildProcess;
  /** The next report of that kind. @throws Error if the process ends before */
  reported<At extends ChildReport['at']>(at: At): Promise<Extract<ChildReport, { at: At }>>;
  goOn(): void;
  /** The signal that ended it, or its exit code. */
  ended(): Promise<NodeJS.Signals | number | null>;
}

export function startChild(order: ChildOrder): Child {
  const child = fork(new URL('./engine-child.ts', import.meta.url), [JSON.stringify(order)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const reports: ChildReport[] = [];
  child.on('message', (report: ChildReport) => reports.push(report));
  const exit = once(child, 'exit').then(
    ([code, signal]) => (signal ?? code) as NodeJS.Signals | number | null,
  );
  return {
    process: child,
    reported: async <At extends ChildReport['at']>(at: At) => {
      for (;;) {
        const found = reports.find((report) => report.at === at);
        if (found !== undefined) return found as Extract<ChildReport, { at: At }>;
        const ended = await Promise.race([
          once(child, 'message').then(() => null),
          exit.then((how) => ({ how })),
        ]);
        if (ended !== null && !reports.some((report) => report.at === at))
          throw new Error(`The process ended (${ended.how}) before it reported ${at}`);
      }
    },
    goOn: () => child.send('go on'),
    ended: () => exit,
  };
}
