// The one failure the embedded stack reports: its message is written for the person at the terminal.

export class StackError extends Error {
  readonly code = 'STACK';
  override readonly name = 'StackError';
}
