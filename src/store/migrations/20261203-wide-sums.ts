/** A sum over bills may be larger than any one of them (DEC-17): a column too narrow for it held up everybody who shares it. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261203WideSums extends Migration {
  override name = '20261203-wide-sums';

  /** MySQL commits each DDL statement by itself; one that is run again changes nothing. */
  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    for (const [table, columns] of Object.entries(SUMS)) {
      const changes = columns.map((column) => `modify ${column} decimal(30,2) not null default '0.00'`);
      this.addSql(`alter table ${table} ${changes.join(', ')}`);
    }
    this.addSql('alter table income_diff_handover modify batch_deduction decimal(30,2) null');
  }
}

const ACCOUNT_TOTALS = [
  'total_rent',
  'total_pre_rent',
  'total_freeze',
  'total_deduction',
  'total_payable',
  'total_paid',
];

const SUMS: Record<string, readonly string[]> = {
  fi_customer_account_partner: [...ACCOUNT_TOTALS, 'current_month_rent', 'cumulative_deduction'],
  fi_customer_account: [...ACCOUNT_TOTALS, 'current_month_rent'],
  fi_project_income_difference: ['partner_rent', 'platform_rent', 'diff_rent'],
};
