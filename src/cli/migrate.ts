/** `rooftally migrate`: brings the schema up to date; may be run at any time. */
import { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { migrate } from '../store/open-store.ts';
import { withStore } from './database.ts';

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('Bring the schema of the database in DATABASE_URL up to date')
    .action(async () => {
      const names = await withStore(readConfig(), migrate);
      for (const name of names) console.log(`migrated ${name}`);
      if (names.length === 0) console.log('the schema is up to date');
    });
}
