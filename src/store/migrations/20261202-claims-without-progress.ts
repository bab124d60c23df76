/** How often a task was claimed since it last got anywhere: what inspection calls stuck (INV-1). */
import { Migration } from '@mikro-orm/migrations';

const IS_THERE = `select 1 from information_schema.columns where table_schema = database()
  and table_name = 'fi_async_task' and column_name = 'claims_without_progress'`;

export class Migration20261202ClaimsWithoutProgress extends Migration {
  override name = '20261202-claims-without-progress';

  /** MySQL commits each DDL statement by itself; a run that died after it finds the column. */
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    if ((await this.execute(IS_THERE)).length > 0) return;
    this.addSql('alter table fi_async_task add column claims_without_progress int not null default 0');
  }
}
