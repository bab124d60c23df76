/** Ctrl-C and SIGTERM, asked for before the work begins, so that none is missed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves at the first signal; from then on a second one ends the process at once, as everywhere. */
export function untilInterrupted(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const listener = (signal: NodeJS.Signals) => {
      for (const name of SIGNALS) process.off(name, listener);
      resolve(signal);
    };
    for (const name of SIGNALS) process.on(name, listener);
  });
}
