/**
 * A flood into a young database runs on statistics from when its tables were small. The optimizer then likes to read a
 * whole table instead of the few rows it was asked for, and a statement that locks waits for whatever it passes over:
 * twenty partners at once took turns. So statements of the chain say by which index they go.
 */
import { expect } from 'chai';
import type { Sql } from '../../src/store/sql.ts';
import { makeRoofs, type Roofs } from '../support/roofs.ts';
import { acceptPush, bill, openStages, placesByRow, type Stages } from '../support/stages.ts';

const STATIONS_BEFORE = 600;
const STATIONS = 20;
/** What the optimizer believes of every table: more than a batch has, and fewer than there are. */
const ROWS_AT_FIRST = 100;
const MONTH = '2026-01';
/** A statement may read some rows for each station that it is about (here up to 420), never all that are there. */
const ROWS_PER_CALL_MAX = 500;

describe('store: statistics from when the tables were small', function () {
  this.timeout(120_000);
  let stages: Stages;
  let roofs: Roofs;
  before(async () => {
    stages = await openStages();
    roofs = await makeRoofs(stages.store, { stations: STATIONS_BEFORE + STATIONS, months: [MONTH] });
    await pushThrough(roofs.stations.slice(0, STATIONS_BEFORE));
  });
  after(() => stages.close());

  async function pushThrough(stations: Roofs['stations']): Promise<string> {
    const { partnerOrgId } = roofs.partner;
    const accepted = await acceptPush(
      stages.store,
      partnerOrgId,
      stations.map((mapping) => ({ mapping, bills: [bill(MONTH)] })),
    );
    await stages.turnsUpTo('bill-snapshot', partnerOrgId);
    return accepted.pushId;
  }

  it('ENG-17 no statement of the chain reads or locks more than it is about', async () => {
    await setStatistics(stages.store, ROWS_AT_FIRST);
    await stages.store.change('TRUNCATE performance_schema.events_statements_summary_by_digest');
    const pushId = await pushThrough(roofs.stations.slice(-STATIONS));
    expect(new Set(await placesByRow(stages.store, pushId))).to.deep.equal(new Set(['CURRENT']));
    const statements = await stages.store.many<{ statement: string; rowsPerCall: string }>(
      `SELECT LEFT(digest_text, 160) statement, sum_rows_examined / count_star rowsPerCall
         FROM performance_schema.events_statements_summary_by_digest
        WHERE schema_name = DATABASE() ORDER BY rowsPerCall DESC`,
    );
    expect(statements.length, 'statements seen').to.be.above(20);
    expect(statements.filter((one) => Number(one.rowsPerCall) > ROWS_PER_CALL_MAX)).to.deep.equal([]);
  });
});

/** From here on the optimizer believes that every table and every key of this database has so many rows. */
async function setStatistics(sql: Sql, rows: number): Promise<void> {
  const tables = await sql.many<{ name: string }>(
    "SELECT table_name name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
  );
  for (const { name } of tables) await sql.change(`ALTER TABLE ${name} STATS_AUTO_RECALC = 0`);
  await sql.change(
    'UPDATE mysql.innodb_table_stats SET n_rows = ?, clustered_index_size = 1 WHERE database_name = DATABASE()',
    [rows],
  );
  await sql.change(
    "UPDATE mysql.innodb_index_stats SET stat_value = ? WHERE database_name = DATABASE() AND stat_name LIKE 'n_diff%'",
    [rows],
  );
  await sql.change(`FLUSH TABLES ${tables.map(({ name }) => name).join(', ')}`);
}
