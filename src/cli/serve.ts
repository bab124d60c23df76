/** `rooftally serve`: one process with the roles that it is told, until SIGTERM or Ctrl-C. */
import { Command, Option } from 'commander';
import { readConfig } from '../../config/config.ts';
import { startRooftally } from '../main.ts';
import { untilInterrupted } from './interruption.ts';

const ROLES = ['api', 'worker', 'scheduler'] as const;
type Role = (typeof ROLES)[number];

interface ServeOptions {
  readonly role: readonly (Role | 'all')[];
}

export function serveCommand(): Command {
  const role = new Option('--role <role...>', 'what this process does; every role may run many times')
    .choices([...ROLES, 'all'])
    .default(['all']);
  return new Command('serve')
    .description('Serve: API and control plane, worker, scheduler, or all of them')
    .addOption(role)
    .action((options: ServeOptions) => serve(options));
}

async function serve(options: ServeOptions): Promise<void> {
  const roles = options.role.includes('all') ? ROLES : ROLES.filter((role) => options.role.includes(role));
  const interrupted = untilInterrupted();
  const running = await startRooftally({ config: readConfig(), roles });
  await interrupted;
  await running.stop();
  // What did not end within the time limit must not keep the process from ending.
  process.exit();
}
