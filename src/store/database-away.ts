/** Whether something thrown means that the database could not be reached, rather than that it refused a statement. */
import { ConnectionException } from '@mikro-orm/mysql';

/** Of the driver, of the operating system, and of a server that is full or going down. */
const AWAY_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ER_CON_COUNT_ERROR',
  'ER_SERVER_SHUTDOWN',
  'ER_NORMAL_SHUTDOWN',
  'ER_CLIENT_INTERACTION_TIMEOUT',
  'ER_OPTION_PREVENTS_STATEMENT',
]);
const CAUSES_MAX = 5;

export function isDatabaseAway(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error; depth++) {
    if (error instanceof ConnectionException) return true;
    if ('code' in error && 'fatal' in error && AWAY_CODES.has(String(error.code))) return true;
    if (/closed state|Connection lost|pool is closed/i.test(error.message)) return true;
    error = error.cause;
  }
  return false;
}
