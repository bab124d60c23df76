/** `rooftally load-example`: the example's seeds, for somebody who runs Rooftally on a database of their own. */
import { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { withStore } from './database.ts';
import { loadExample } from './load-example.ts';

export function loadExampleCommand(): Command {
  return new Command('load-example')
    .description(
      'Load the example into the database in DATABASE_URL; its partner keys are public: never in production',
    )
    .action(async () => {
      const loaded = await withStore(readConfig(), loadExample);
      const partners = loaded.partners.map((partner) => partner.orgCode).join(', ');
      console.log(
        `loaded: ${partners}; ${loaded.stationCount} stations, ${loaded.platformBillCount} own bills`,
      );
    });
}
