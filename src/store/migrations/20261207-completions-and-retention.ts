/** Numbered completions of pushes (COV-4), and what the removal of old rows keeps of them (RET-1). */
import { Migration } from '@mikro-orm/migrations';

const TABLE_OPTIONS = 'default character set utf8mb4 collate utf8mb4_bin engine = InnoDB';

const IS_THERE = `select 1 from information_schema.columns where table_schema = database()
  and table_name = 'partner_push' and column_name = 'retired_at'`;

export class Migration20261207CompletionsAndRetention extends Migration {
  override name = '20261207-completions-and-retention';

  /** MySQL commits each DDL statement by itself; a run that died in between goes on where it was. */
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    for (const [table, columns] of Object.entries(TABLES)) {
      this.addSql(`create table if not exists ${table} (${columns}) ${TABLE_OPTIONS}`);
    }
    // What was accepted before is looked at once, and so gets its first completion.
    this.addSql(
      `insert into open_push (push_id) select push_id from partner_push
        where push_id not in (select push_id from push_completion) on duplicate key update push_id = values(push_id)`,
    );
    if ((await this.execute(IS_THERE)).length === 0) this.addSql(`alter table partner_push ${PUSH_CHANGES}`);
  }
}

const TABLES: Record<string, string> = {
  open_push: `
    push_id bigint unsigned not null,
    waits_for_row int unsigned not null default '0',
    primary key (push_id)`,
  push_completion: `
    push_id bigint unsigned not null,
    completion_no int unsigned not null,
    state varchar(24) not null,
    row_count int not null,
    amount decimal(30,2) not null,
    exception_count int not null,
    exception_amount decimal(30,2) not null,
    completed_at datetime(3) not null,
    primary key (push_id, completion_no)`,
  job_control: `
    name varchar(32) not null,
    paused tinyint not null default 0,
    updated_by varchar(80) null,
    update_time datetime(3) not null default current_timestamp(3),
    primary key (name)`,
};

const PUSH_CHANGES = `add column kept_coverage json null, add column retired_at datetime(3) null,
  add column rows_removed_at datetime(3) null, add key idx_push_retention (rows_removed_at, expires_at, push_id)`;
