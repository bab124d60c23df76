/** `rooftally tasks …`: find, show, run, stop, resume and cancel tasks through the control plane. */
import { Command } from 'commander';
import type { ApiClient } from './api-client.ts';
import { table } from './table.ts';
import { type AdminOptions, adminClient } from './where-to.ts';

interface TaskItem {
  readonly taskCode: string;
  readonly stage: string;
  readonly partnerOrgId: string;
  readonly status: string;
  readonly retryCount: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
}

export interface TaskRunReply {
  readonly selected: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cancelled: number;
  readonly items: readonly {
    readonly taskCode: string;
    readonly outcome: string;
    readonly reason: string | null;
  }[];
}

const TASKS = '/admin/api/v1/tasks';
const ERROR_SHOWN_MAX = 70;

export function tasksCommand(): Command {
  const command = new Command('tasks').description('Find and steer tasks; finds a running demo by itself');
  add(command, 'list', 'what is to be done, and what failed')
    .option('--type <taskType>')
    .option('--status <status>', 'PENDING, RUNNING, SUCCESS, FAILED, CANCELLED')
    .option('--partner-org-id <id>')
    .option('--business-key <key>')
    .option('--cursor <cursor>', 'of the next page')
    .action(list);
  add(command, 'show', 'all that is known of a task').argument('<taskCode>').action(show);
  add(command, 'run', 'run tasks now, whatever their due time and number of tries')
    .argument('<stage>')
    .argument('[taskCodes...]', 'none: what is due')
    .option('--business-key <key...>')
    .option('--max <count>', 'at most so many')
    .action(run);
  add(command, 'refresh', 'ask for a full refresh: all accounts of a partner, months up to a cut-off')
    .argument('<partnerOrgId>')
    .option('--cut-off <month>', 'YYYY-MM; none: the current one')
    .option('--reason <reason>', 'kept in the audit')
    .action(refresh);
  for (const verb of ['stop', 'resume', 'cancel'] as const) {
    const sub = add(command, verb, STEER_WORDS[verb]).argument('<taskCode>');
    if (verb === 'cancel') sub.requiredOption('--reason <reason>', 'kept in the audit');
    sub.action((taskCode: string, options: AdminOptions & { reason?: string }) =>
      steer(verb, taskCode, options),
    );
  }
  return command;
}

const STEER_WORDS = {
  stop: 'stop it at its next boundary',
  resume: 'let a stopped one go on',
  cancel: 'give it up for good; a running one must be stopped first',
};

function add(command: Command, name: string, description: string): Command {
  return command
    .command(name)
    .description(description)
    .option('--url <url>', 'of the control plane')
    .option('--token <token>', 'an admin token');
}

interface ListOptions extends AdminOptions {
  readonly type?: string;
  readonly status?: string;
  readonly partnerOrgId?: string;
  readonly businessKey?: string;
  readonly cursor?: string;
}

async function list(options: ListOptions): Promise<void> {
  const { type, status, partnerOrgId, businessKey, cursor } = options;
  const filters = Object.entries({ type, status, partnerOrgId, businessKey, cursor });
  const query = new URLSearchParams();
  for (const [name, value] of filters) if (value !== undefined) query.set(name, value);
  const page = await adminClient(options).get<{ items: TaskItem[]; nextCursor: string | null }>(
    `${TASKS}?${query}`,
  );
  const rows = page.items.map((task) => [
    ...[task.taskCode, task.stage, task.partnerOrgId, task.status, String(task.retryCount)],
    (task.errorMessage ?? '').slice(0, ERROR_SHOWN_MAX),
  ]);
  for (const line of table(['task', 'stage', 'partner', 'status', 'retries', 'error'], rows))
    console.log(line);
  if (page.nextCursor !== null) console.log(`more: --cursor ${page.nextCursor}`);
}

async function show(taskCode: string, options: AdminOptions): Promise<void> {
  const task = await adminClient(options).get(`${TASKS}/${encodeURIComponent(taskCode)}`);
  console.log(JSON.stringify(task, null, 2));
}

interface RunOptions extends AdminOptions {
  readonly businessKey?: readonly string[];
  readonly max?: string;
}

async function run(stage: string, taskCodes: readonly string[], options: RunOptions): Promise<void> {
  const reply = await runTasks(adminClient(options), {
    stage,
    ...(options.max === undefined ? {} : { maxTaskCount: Number(options.max) }),
    ...(taskCodes.length === 0 ? {} : { taskCodes }),
    ...(options.businessKey === undefined ? {} : { businessKeys: options.businessKey }),
  });
  const { selected, succeeded, failed, skipped, cancelled, items } = reply;
  for (const item of items) console.log(`${item.taskCode}  ${item.outcome}  ${item.reason ?? ''}`.trimEnd());
  const counts = `${succeeded} succeeded, ${failed} failed, ${skipped} skipped, ${cancelled} cancelled`;
  console.log(`${selected} selected: ${counts}`);
  if (failed > 0) process.exitCode = 1;
}

interface RefreshOptions extends AdminOptions {
  readonly cutOff?: string;
  readonly reason?: string;
}

async function refresh(partnerOrgId: string, options: RefreshOptions): Promise<void> {
  const { cutOff, reason } = options;
  const asked = await adminClient(options).post<{
    taskCode: string;
    cutOffMonth: string;
    replaced: readonly string[];
  }>('/admin/api/v1/full-refreshes', { partnerOrgId, cutOffMonth: cutOff, reason });
  for (const code of asked.replaced) console.log(`replaced: ${code}`);
  console.log(`refresh up to ${asked.cutOffMonth}: ${asked.taskCode}`);
}

export interface TaskRunRequest {
  readonly stage: string;
  readonly maxTaskCount?: number;
  readonly taskCodes?: readonly string[];
  readonly businessKeys?: readonly string[];
}

export function runTasks(client: ApiClient, request: TaskRunRequest): Promise<TaskRunReply> {
  return client.post<TaskRunReply>(`${TASKS}/run`, request);
}

async function steer(verb: string, taskCode: string, options: AdminOptions & { reason?: string }) {
  const body = options.reason === undefined ? {} : { reason: options.reason };
  await adminClient(options).post(`${TASKS}/${encodeURIComponent(taskCode)}/${verb}`, body);
  console.log(`${verb}: ${taskCode}`);
}
