import { randomBytes } from 'node:crypto';
import type { Options } from '@mikro-orm/mysql';
import { expect } from 'chai';
import { mikroOrmOptions } from '../../config/mikro-orm.config.ts';
import { Failure } from '../../src/errors.ts';
import { migrations } from '../../src/store/migrations/all.ts';
import { closeStore, listPendingMigrations, migrate, openStore } from '../../src/store/open-store.ts';
import { checkDatabase } from '../../src/store/schema-check.ts';
import type { Store } from '../../src/store/transaction.ts';
import { openTestStore, type TestStore } from '../support/database.ts';
import { eventually, holdRows } from '../support/engine.ts';

describe('store: schema', () => {
  let testStore: TestStore;
  let store: Store;
  const opened: Store[] = [];
  const made: string[] = [];
  let allMigrations: string[];
  /** Never migrated. */
  let emptyDatabase: string;

  before(async () => {
    testStore = await openTestStore();
    store = testStore.store;
    emptyDatabase = await makeDatabase();
    allMigrations = await listPendingMigrations(await open(emptyDatabase));
  });
  after(async () => {
    for (const name of made) await store.change(`DROP DATABASE ${name}`);
    await testStore.drop();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map(closeStore));
  });

  /** A database in which nothing is yet. @returns its address */
  async function makeDatabase(collation = 'utf8mb4_bin'): Promise<string> {
    const name = `rooftally_test_${randomBytes(6).toString('hex')}`;
    await store.change(`CREATE DATABASE ${name} DEFAULT CHARACTER SET utf8mb4 COLLATE ${collation}`);
    made.push(name);
    const url = new URL(testStore.databaseUrl);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** As production opens it; `change` says what is wrong with it. */
  async function open(databaseUrl: string, poolMax = 4, change: Partial<Options> = {}): Promise<Store> {
    const another = await openStore({ ...mikroOrmOptions({ databaseUrl, poolMax }), ...change });
    opened.push(another);
    return another;
  }

  async function tablesOf(of: Store): Promise<string[]> {
    const rows = await of.many<{ name: string }>(
      'SELECT table_name name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY name',
    );
    return rows.map((row) => row.name);
  }

  let shared: Promise<string> | null = null;
  /** A migrated database that tests break and mend. */
  function sharedDatabase(): Promise<string> {
    shared ??= makeDatabase().then(async (databaseUrl) => {
      await migrate(await open(databaseUrl));
      return databaseUrl;
    });
    return shared;
  }

  const refusalOf = (of: Store): Promise<Failure> =>
    checkDatabase(of).then(
      () => expect.fail('the database was accepted'),
      (error: Failure) => error,
    );

  describe('migrations', () => {
    it('the migrated schema is, table by table and column by column, what the entities say', async () => {
      expect((await store.orm.schema.getUpdateSchemaSQL({ wrap: false })).trim()).to.equal('');
    });

    it('a fresh database is migrated once; after that there is nothing to do', async () => {
      const fresh = await open(await makeDatabase());
      expect(allMigrations).to.have.length(migrations.length);
      expect(await migrate(fresh)).to.deep.equal(allMigrations);
      expect(await migrate(fresh)).to.deep.equal([]);
      expect(await listPendingMigrations(fresh)).to.deep.equal([]);
      expect(await tablesOf(fresh)).to.deep.equal(await tablesOf(store));
      await checkDatabase(fresh);
    });

    it('ENG-17 text is compared by its bytes in every table, whatever the database was made with', async () => {
      const fresh = await open(await makeDatabase('utf8mb4_general_ci'));
      await migrate(fresh);
      const others = await fresh.many(
        `SELECT table_name, column_name, collation_name FROM information_schema.columns
          WHERE table_schema = DATABASE() AND collation_name <> 'utf8mb4_bin' AND table_name <> 'schema_migration'`,
      );
      expect(others).to.deep.equal([]);
    });

    it('of three that migrate a fresh database at once one does it, and all find it done', async () => {
      const databaseUrl = await makeDatabase();
      const three = await Promise.all([1, 2, 3].map(() => open(databaseUrl)));
      const ran = await Promise.all(three.map((one) => migrate(one)));
      expect(ran.filter((names) => names.length > 0)).to.deep.equal([allMigrations]);
      for (const one of three) await checkDatabase(one);
    });

    it('who comes while another migrates waits for it, and goes on when it is done', async () => {
      const other = await open(await sharedDatabase());
      await other.change('DELETE FROM schema_migration');
      const lock = await holdRows(store, "SELECT GET_LOCK('rooftally-migration', 0)");
      const migrated = migrate(other);
      await eventually('the second to wait', async () => {
        const row = await store.one<{ n: number }>(
          "SELECT COUNT(*) n FROM information_schema.processlist WHERE info LIKE '%GET_LOCK(%' AND state = 'User lock'",
        );
        return Number(row.n) > 0;
      });
      expect(await listPendingMigrations(other)).to.deep.equal(allMigrations);
      // The lock belongs to the session: whoever ends it, in order or not, lets the next one in.
      const { id } = await store.one<{ id: string }>("SELECT IS_USED_LOCK('rooftally-migration') id");
      await store.change(`KILL ${Number(id)}`);
      expect(await migrated).to.deep.equal(allMigrations);
      await lock.release().catch(() => undefined);
    });

    it('a migration that died half-way is completed by the next start', async () => {
      const broken = await open(await sharedDatabase());
      await broken.change('DROP TABLE stage_slot');
      await broken.change('DELETE FROM schema_migration');
      expect(await migrate(broken)).to.deep.equal(allMigrations);
      expect(await tablesOf(broken)).to.deep.equal(await tablesOf(store));
    });

    it('ENG-12 migrating leaves no session behind that would be silent for an hour', async () => {
      const migrated = await open(await sharedDatabase());
      await migrate(migrated);
      const timeouts = await Promise.all(
        Array.from({ length: 4 }, () =>
          migrated.one<{ s: string }>('SELECT @@session.wait_timeout s, SLEEP(0.02)'),
        ),
      );
      expect(timeouts.map(({ s }) => Number(s))).to.deep.equal([25, 25, 25, 25]);
    });

    it('a pool of one connection, with which migrating would wait for itself for ever, is refused in words', async () => {
      const lone = await open(emptyDatabase, 1);
      const outcome = await migrate(lone).catch((error: Failure) => error);
      expect(outcome).to.be.instanceOf(Failure).with.property('code', 'DATABASE_NOT_READY');
      expect((outcome as Failure).message)
        .to.include('ROOFTALLY_DATABASE_POOL')
        .and.to.include('2');
    });
  });

  describe('the check at every start', () => {
    it('accepts a migrated database, and leaves nothing in it', async () => {
      await checkDatabase(store);
      expect(await store.many('SELECT stage FROM stage_control')).to.deep.equal([]);
    });

    const keys: [rule: string, table: string, key: string][] = [
      ['ENG-3', 'fi_async_task', 'uk_task_code_business'],
      ['ING-3', 'pushed_row', 'uk_pushed_row_receipt'],
      ['DEC-3', 'station_mapping', 'uk_mapping_partner_platform'],
      ['STA-5', 'fi_customer_account_partner', 'uk_partner_account'],
      ['STA-8', 'fi_customer_bill_partner', 'uk_partner_bill'],
      ['DIF-7', 'fi_monthly_income_difference', 'uk_income_difference'],
      ['DEC-9', 'fi_resident_income_payment_bill_dimension_snapshot', 'uk_bill_snapshot'],
      ['LCK-17', 'fi_resident_income_payment_bill_lock', 'uk_bill_lock_key'],
    ];
    it(`${keys.map(([rule]) => rule).join(' ')} names each unique key that is missing, all at once, and says what to do`, async () => {
      const broken = await open(await sharedDatabase());
      for (const [, table, key] of keys) await broken.change(`ALTER TABLE ${table} DROP INDEX ${key}`);
      const refusal = await refusalOf(broken);
      expect(refusal).to.include({ code: 'DATABASE_NOT_READY', retryable: false, reach: 'platform' });
      for (const [rule, table, key] of keys)
        expect(refusal.message, rule).to.include(`unique key ${key} of table ${table} is missing`);
      const statements = refusal.message.match(/ALTER TABLE [^;]*;/g) ?? [];
      expect(statements).to.have.length(keys.length);
      for (const statement of statements) await broken.change(statement);
      await checkDatabase(broken);
    });

    const mendable: [what: string, table: string, change: string][] = [
      ['a key that is missing', 'fi_customer_bill_partner', 'DROP INDEX uk_partner_bill'],
      [
        'a key of that name that is not unique',
        'fi_customer_bill_partner',
        'DROP INDEX uk_partner_bill, ADD INDEX uk_partner_bill (customer_account_id, bill_year_month)',
      ],
      [
        'a key of that name on other columns',
        'fi_customer_bill_partner',
        'DROP INDEX uk_partner_bill, ADD UNIQUE INDEX uk_partner_bill (bill_year_month, id)',
      ],
      ['a primary key that is missing', 'income_diff_handover', 'DROP PRIMARY KEY'],
    ];
    for (const [what, table, change] of mendable) {
      it(`${what} is refused, and the statement that it is told to run puts it back as it was`, async () => {
        const broken = await open(await sharedDatabase());
        await broken.change(`ALTER TABLE ${table} ${change}`);
        const statement = /ALTER TABLE [^;]*;/.exec((await refusalOf(broken)).message)?.[0];
        await broken.change(statement!);
        await checkDatabase(broken);
        expect((await broken.orm.schema.getUpdateSchemaSQL({ wrap: false })).trim()).to.equal('');
      });
    }

    it('a database without any of our tables is sent to be migrated', async () => {
      const empty = await open(emptyDatabase);
      const refusal = await refusalOf(empty);
      expect(refusal.code).to.equal('DATABASE_NOT_READY');
      expect(refusal.message).to.match(/tables are missing .*fi_async_task.*run "rooftally migrate"/);
    });

    it('ENG-10 a driver that counts changed instead of matched rows is refused', async () => {
      const wrong = await open(testStore.databaseUrl, 2, {
        driverOptions: { bigNumberStrings: true, flags: ['-FOUND_ROWS'] },
      });
      expect((await refusalOf(wrong)).message).to.include('FOUND_ROWS');
    });

    it('STA-1 sessions with another isolation, and ENG-12 with a long lock wait, are refused', async () => {
      const wrong = await open(testStore.databaseUrl, 2, { onCreateConnection: async () => {} });
      const { message } = await refusalOf(wrong);
      expect(message).to.include('REPEATABLE-READ instead of READ-COMMITTED');
      expect(message).to.include('innodb_lock_wait_timeout is 50 s');
    });
  });
});
