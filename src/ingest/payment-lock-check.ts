/**
 * Whether a payment holds a station-month (ING-4). It fails closed: a question that gets no answer, a failed answer or
 * an empty answer counts as 'UNKNOWN', and the rows that depend on it are refused; all others go on.
 */
import type { LockAnswer } from '../domain/judge-row.ts';
import { listLocksOf, type StationMonth, type StationMonthLock } from '../store/bill-locks.ts';
import { isDatabaseAway } from '../store/database-away.ts';
import type { Sql } from '../store/sql.ts';

const ANSWER_TIMEOUT_MS = 5_000;

/** Answers for each station-month that it was asked about; one that it leaves out is not answered. */
export type PaymentLockCheck = (asked: readonly StationMonth[]) => Promise<readonly StationMonthLock[]>;

export function databaseLockCheck(sql: Sql): PaymentLockCheck {
  return (asked) => listLocksOf(sql, asked);
}

/** A failed answer refuses rows without failing the request; somebody should hear of it. */
export function reportingTrouble(
  check: PaymentLockCheck,
  onTrouble: (where: string, error: unknown) => void = () => {},
): PaymentLockCheck {
  return async (asked) => {
    try {
      return await check(asked);
    } catch (error) {
      onTrouble('payment lock check', error);
      throw error;
    }
  };
}

export class LockAnswers {
  readonly #answers = new Map<string, LockAnswer>();

  set(where: StationMonth, answer: LockAnswer): void {
    this.#answers.set(keyOf(where), answer);
  }

  get(where: StationMonth): LockAnswer {
    return this.#answers.get(keyOf(where)) ?? 'UNKNOWN';
  }
}

function keyOf(where: StationMonth): string {
  return `${where.platformStationId}:${where.month}`;
}

/**
 * @param asked some hundreds at a time
 * @throws what the database threw where it is away: then nothing can be accepted anyway, and 503 is the answer (ING-2)
 */
export async function askForLocks(
  check: PaymentLockCheck,
  asked: readonly StationMonth[],
): Promise<LockAnswers> {
  const answers = new LockAnswers();
  if (asked.length === 0) return answers;
  for (const answer of await ask(check, asked)) answers.set(answer, answer.locked ? 'LOCKED' : 'FREE');
  return answers;
}

async function ask(
  check: PaymentLockCheck,
  asked: readonly StationMonth[],
): Promise<readonly StationMonthLock[]> {
  const timeout = Promise.withResolvers<readonly StationMonthLock[]>();
  const timer = setTimeout(() => timeout.resolve([]), ANSWER_TIMEOUT_MS);
  try {
    return await Promise.race([check(asked), timeout.promise]);
  } catch (error) {
    if (isDatabaseAway(error)) throw error;
    return [];
  } finally {
    clearTimeout(timer);
  }
}
