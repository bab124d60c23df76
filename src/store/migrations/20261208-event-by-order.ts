/** An operator's release asks for the results of its order (LCK-3): without an index that reads every result there is. */
import { Migration } from '@mikro-orm/migrations';

const TABLE = 'fi_resident_income_payment_event';
const INDEX = 'idx_payment_event_order';
const IS_THERE = `select 1 from information_schema.statistics
  where table_schema = database() and table_name = '${TABLE}' and index_name = '${INDEX}' limit 1`;

export class Migration20261208EventByOrder extends Migration {
  override name = '20261208-event-by-order';

  /** MySQL commits each DDL statement by itself; one that is run again changes nothing. */
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    if ((await this.execute(IS_THERE)).length === 0)
      this.addSql(`alter table ${TABLE} add key ${INDEX} (payment_order_id, kind)`);
  }
}
