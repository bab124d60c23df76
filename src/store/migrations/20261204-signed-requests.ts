/** Signed requests (ING-10): what a credential may sign with, and the nonces that were spent. */
import { Migration } from '@mikro-orm/migrations';

const IS_THERE = `select 1 from information_schema.columns where table_schema = database()
  and table_name = 'partner_credential' and column_name = 'signing'`;

export class Migration20261204SignedRequests extends Migration {
  override name = '20261204-signed-requests';

  /** MySQL commits each DDL statement by itself; a run that died between them goes on where it was. */
  override isTransactional(): boolean {
    return false;
  }

  override async up(): Promise<void> {
    if ((await this.execute(IS_THERE)).length === 0)
      this.addSql(
        `alter table partner_credential
           add column signing varchar(16) not null default 'NONE', add column signing_secret varchar(255) null`,
      );
    this.addSql(
      `create table if not exists request_nonce (
         id bigint unsigned not null auto_increment primary key,
         credential_id bigint unsigned not null,
         nonce varchar(64) not null,
         expires_at datetime(3) not null,
         unique key uk_nonce_credential (credential_id, nonce),
         key idx_nonce_expires (expires_at)
       ) default character set utf8mb4 collate utf8mb4_bin engine = InnoDB`,
    );
  }
}
