/** `rooftally status`: whether it serves, which stages are held, and the latest pushes. */
import { Command } from 'commander';
import { shanghaiTime } from './figures.ts';
import { table } from './table.ts';
import { type AdminOptions, adminClient } from './where-to.ts';

interface PushItem {
  readonly pushId: string;
  readonly partnerOrgId: string;
  readonly code: string;
  readonly requestedCount: number;
  readonly acceptedCount: number;
  readonly acceptedAmount: string;
  readonly acceptedAt: string;
}

export function statusCommand(): Command {
  return new Command('status')
    .description('Whether it serves, and the latest pushes; finds a running demo by itself')
    .option('--url <url>', 'of the control plane')
    .option('--token <token>', 'an admin token')
    .action(status);
}

async function status(options: AdminOptions): Promise<void> {
  const client = adminClient(options);
  await client.get('/readyz');
  console.log(`${client.url} is ready`);
  const { items } = await client.get<{ items: PushItem[] }>('/admin/api/v1/pushes');
  const rows = items.map((push) => [
    ...[push.pushId, push.partnerOrgId, push.code],
    `${push.acceptedCount} of ${push.requestedCount}`,
    push.acceptedAmount,
    shanghaiTime(push.acceptedAt),
  ]);
  const head = ['push', 'partner', 'code', 'accepted rows', 'accepted CNY', 'at (Shanghai)'];
  for (const line of table(head, rows)) console.log(line);
}
