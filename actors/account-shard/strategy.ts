/** What an account task goes over: the facts that it names, or a partner's months up to a cut-off; the stage is the same for both. */
import type { AccountUnit, RefreshProgress } from '../../src/domain/account-refresh.ts';
import type { StageName } from '../../src/domain/stage.ts';
import type { ScopeFact } from '../../src/store/account-scopes.ts';
import type { PartnerTerms } from '../../src/store/difference-inputs.ts';
import type { TaskRow } from '../../src/store/tasks.ts';
import type { Transaction } from '../../src/store/transaction.ts';
import type { RequestedSnapshot } from '../../src/tasks/request-snapshots.ts';
import type { Halt } from '../../src/tasks/stage-handler.ts';

/** An account with what its refresh rests on, read under its guard. */
export interface AccountFacts {
  readonly platformStationId: string;
  readonly partnerAccountId: string | null;
  readonly platformAccountId: string | null;
  /** In order of month and id. */
  readonly facts: readonly ScopeFact[];
}

export interface NextAccounts<Unit extends AccountUnit> {
  /** Ascending by platform station, at most as many as were asked for. */
  readonly accounts: readonly Unit[];
  /** Others follow them. */
  readonly more: boolean;
}

export interface ScopeStrategy<Unit extends AccountUnit = AccountUnit> {
  readonly stage: StageName;
  /** False: an account that went well is counted, and told by no row of its own (ACC-14). */
  readonly auditsAccounts: boolean;
  /** Feeds the accounts' current month (DEC-5). */
  currentMonth(task: TaskRow): string;
  /** The accounts that the cursor has not passed. */
  next(tx: Transaction, task: TaskRow, after: RefreshProgress, limit: number): Promise<NextAccounts<Unit>>;
  /** What can be checked before anything is locked. @throws Failure */
  check(task: TaskRow, accounts: readonly Unit[]): void;
  /** Under the accounts' guards. @throws Failure of whichever account cannot be refreshed */
  read(tx: Transaction, task: TaskRow, accounts: readonly Unit[]): Promise<AccountFacts[]>;
  /** After the three tables: what this task says of its differences besides. */
  conclude(
    tx: Transaction,
    task: TaskRow,
    accounts: readonly Unit[],
    found: readonly AccountFacts[],
    terms: PartnerTerms,
  ): Promise<void>;
  /** Pushed rows that waited for these accounts. */
  moveRows(
    tx: Transaction,
    task: TaskRow,
    accounts: readonly Unit[],
    found: readonly AccountFacts[],
    requested: readonly RequestedSnapshot[],
  ): Promise<void>;
  onSkip(tx: Transaction, task: TaskRow, account: Unit, reason: string): Promise<void>;
  onHalt(
    tx: Transaction,
    task: TaskRow,
    progress: RefreshProgress,
    halt: Halt,
    reason: string,
  ): Promise<void>;
}
