/** Lists of tasks for people: by whatever index serves the question best, newest first. */
import type { StageName } from '../domain/stage.ts';
import { TaskStatus } from '../domain/task-status.ts';
import { type Condition, equalities, type ListSource, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';
import type { TaskRow } from './tasks.ts';

/** Null: any. */
export interface TaskFilter {
  readonly taskType: string | null;
  readonly status: TaskStatus | null;
  readonly partnerOrgId: string | null;
  readonly taskCode: string | null;
  readonly businessKey: string | null;
  readonly stage: StageName | null;
  readonly pushId: string | null;
}

/** A task without what may be long. */
export type ListedTask = Omit<TaskRow, 'taskData' | 'result'>;

const LISTED_COLUMNS = `id, task_type taskType, task_code taskCode, business_key businessKey, status,
  final_result finalResult, activation, retry_count retryCount, max_retry_count maxRetryCount,
  next_execute_time nextExecuteTime, running_attempt runningAttempt, request_generation requestGeneration,
  crash_count crashCount, stage, partner_org_id partnerOrgId, push_id pushId, slot_no slotNo, slot_fence slotFence,
  worker, manually_due manuallyDue, busy_since busySince, error_code errorCode, error_message errorMessage,
  started_time startedTime, finished_time finishedTime, create_time createTime, update_time updateTime`;

/** @param stages all there are: failed tasks are found stage by stage */
export async function listTasks(
  sql: Sql,
  filter: TaskFilter,
  page: { beforeId: string | null; limit: number },
  stages: readonly StageName[],
): Promise<Page<ListedTask>> {
  const filters = filtersOf(filter);
  const { taskCode, businessKey, pushId } = filter;
  if (taskCode !== null || businessKey !== null || (pushId !== null && pushId !== '0')) {
    return listPage(sql, { ...WALK, filters, selective: true }, page);
  }
  if (filter.status === TaskStatus.RUNNING) return listRunning(sql, filter, filters, page);
  if (filter.status === TaskStatus.FAILED) {
    const others = filtersOf({ ...filter, status: null, stage: null });
    return listFailed(sql, others, page, filter.stage === null ? stages : [filter.stage]);
  }
  return listPage(sql, { ...WALK, filters }, page);
}

const WALK = { from: 'fi_async_task', columns: LISTED_COLUMNS, key: 'id' };

function filtersOf(filter: TaskFilter): Condition[] {
  return equalities({
    task_code: filter.taskCode,
    business_key: filter.businessKey,
    push_id: filter.pushId,
    status: filter.status,
    stage: filter.stage,
    partner_org_id: filter.partnerOrgId,
    task_type: filter.taskType,
  });
}

/** What runs is named in the slots (ENG-5): no index on the status is needed to find it. */
async function listRunning(
  sql: Sql,
  filter: TaskFilter,
  filters: readonly Condition[],
  page: { beforeId: string | null; limit: number },
): Promise<Page<ListedTask>> {
  const where = equalities({ stage: filter.stage, partner_org_id: filter.partnerOrgId });
  const slots = await sql.many<{ taskIds: readonly string[] | null }>(
    `SELECT task_ids taskIds FROM stage_slot WHERE ${['holder IS NOT NULL', ...where.map((part) => part.sql)].join(' AND ')}`,
    where.flatMap((part) => [...part.values]),
  );
  const ids = slots.flatMap((slot) => slot.taskIds ?? []);
  if (ids.length === 0) return { items: [], nextCursor: null };
  const inHand: Condition = { sql: 'id IN (?)', values: [ids] };
  return listPage(sql, { ...WALK, filters: [inHand, ...filters], selective: true }, page);
}

/** By the index on (failed, stage, id); the stages' pages are merged down to where the shortest of them ends. */
async function listFailed(
  sql: Sql,
  filters: readonly Condition[],
  page: { beforeId: string | null; limit: number },
  stages: readonly StageName[],
): Promise<Page<ListedTask>> {
  const pages: Page<ListedTask>[] = [];
  for (const stage of stages) pages.push(await listPage(sql, failedAt(stage, filters), page));
  let knownDownTo = 0n;
  for (const { nextCursor } of pages) {
    if (nextCursor !== null && BigInt(nextCursor) > knownDownTo) knownDownTo = BigInt(nextCursor);
  }
  const items = pages
    .flatMap((part) => part.items)
    .filter((task) => BigInt(task.id) >= knownDownTo)
    .sort((left, right) => (BigInt(left.id) < BigInt(right.id) ? 1 : -1));
  if (items.length > page.limit) {
    return { items: items.slice(0, page.limit), nextCursor: items[page.limit - 1]!.id };
  }
  return { items, nextCursor: knownDownTo === 0n ? null : String(knownDownTo) };
}

function failedAt(stage: StageName, filters: readonly Condition[]): ListSource {
  return {
    ...WALK,
    index: 'idx_task_failed',
    indexed: [{ sql: 'failed = 1 AND stage = ?', values: [stage] }],
    filters,
  };
}

export interface ListedOutcome {
  readonly platformStationId: string;
  readonly runningAttempt: number;
  readonly outcome: string;
  readonly scopeCount: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly createTime: string;
}

/** ACC-13: which account of a refresh had which outcome; the caller bounds how many. */
export async function listAccountOutcomes(sql: Sql, taskId: string, limit: number): Promise<ListedOutcome[]> {
  return sql.many<ListedOutcome>(
    `SELECT platform_station_id platformStationId, running_attempt runningAttempt, outcome, scope_count scopeCount,
            error_code errorCode, error_message errorMessage, create_time createTime
       FROM account_refresh_outcome WHERE task_id = ? ORDER BY platform_station_id, id LIMIT ${limit}`,
    [taskId],
  );
}

/** Whether a stop was asked for that the worker has not come to yet (ENG-14). */
export async function isStopRequested(sql: Sql, taskId: string): Promise<boolean> {
  return (await sql.maybeOne('SELECT task_id FROM task_stop_request WHERE task_id = ?', [taskId])) !== null;
}
