/** A database for the length of one command. */
import type { Config } from '../../config/config.ts';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { closeStore, openStore } from '../store/open-store.ts';
import type { Store } from '../store/transaction.ts';

const POOL_MAX = 4;

export async function withStore<T>(
  config: Pick<Config, 'databaseUrl'>,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(mikroOrmOptions({ databaseUrl: config.databaseUrl, poolMax: POOL_MAX }));
  try {
    return await work(store);
  } finally {
    await closeStore(store);
  }
}
