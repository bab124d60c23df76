/** Opens and closes the database, and brings its schema up to date: what commands need that run no work. */
import { MikroORM, type Options } from '@mikro-orm/mysql';
import { Store, type StoreHooks } from './transaction.ts';

/** @param ormOptions from config/mikro-orm.config.ts */
export async function openStore(ormOptions: Options, hooks: StoreHooks = {}): Promise<Store> {
  return new Store(await MikroORM.init({ ...ormOptions, logger: () => {} }), hooks);
}

export async function closeStore(store: Store): Promise<void> {
  await store.orm.close(true);
}

/** @returns the names of the migrations that were run, in order; none where the schema is as it must be */
export async function migrate(store: Store): Promise<string[]> {
  return (await store.orm.migrator.up()).map((migration) => migration.name);
}

export async function listPendingMigrations(store: Store): Promise<string[]> {
  return (await store.orm.migrator.getPending()).map((migration) => migration.name);
}
