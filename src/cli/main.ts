/** The `rooftally` command: one file per command; here only their names and options. */
import { Command } from 'commander';
import { ConfigError } from '../../config/config.ts';
import { Failure } from '../errors.ts';
import { StackError } from '../stack/stack-error.ts';
import { benchCommand } from './bench.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { loadExampleCommand } from './load-example-command.ts';
import { migrateCommand } from './migrate.ts';
import { pushCommand } from './push.ts';
import { serveCommand } from './serve.ts';
import { statusCommand } from './status.ts';
import { tasksCommand } from './tasks.ts';
import { verifyCommand } from './verify.ts';
import { watchCommand } from './watch.ts';

const program = new Command('rooftally')
  .description(
    'Settles household rooftop-solar income: partners push bills, Rooftally says what became of each',
  )
  .showHelpAfterError()
  .addCommand(demoCommand())
  .addCommand(serveCommand())
  .addCommand(migrateCommand())
  .addCommand(pushCommand())
  .addCommand(watchCommand())
  .addCommand(statusCommand())
  .addCommand(tasksCommand())
  .addCommand(verifyCommand())
  .addCommand(doctorCommand())
  .addCommand(benchCommand())
  .addCommand(loadExampleCommand());

try {
  await program.parseAsync();
} catch (error) {
  console.error(`rooftally: ${isOurs(error) ? error.message : ((error as Error).stack ?? String(error))}`);
  process.exitCode = 1;
}

/** Failures that say what to do need no stack trace. */
function isOurs(error: unknown): error is Error {
  return error instanceof Failure || error instanceof ConfigError || error instanceof StackError;
}
