// A test run that does not end is a fault of a test: something was opened and never closed. It is named here,
// instead of left to whoever waits.

const GRACE_MS = 5_000;
const EXIT_CODE = 97;

/** Leaves the run a moment to end by itself; the timer does not keep it alive. */
export function complainIfStillOpen(): void {
  const timer = setTimeout(() => {
    const open = process.getActiveResourcesInfo().filter((name) => !isStandardStream(name));
    console.error(
      `The tests are over, but ${GRACE_MS / 1000} s later something they opened is still open: ${open.join(', ') || 'unknown'}.\n` +
        'Close it in an `after` hook: every worker, queue, connection, server and timer.',
    );
    // Registered last, so that mocha's own listener does not turn this into the count of failed tests.
    process.once('exit', () => {
      process.exitCode = EXIT_CODE;
    });
    process.exit();
  }, GRACE_MS);
  timer.unref();
}

function isStandardStream(name: string): boolean {
  return name === 'TTYWrap' || name === 'PipeWrap';
}
