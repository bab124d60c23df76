/** The operation audit, as it is read. */
import { equalities, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';

const OPERATIONS = {
  from: 'operation_audit',
  key: 'id',
  columns: `id, actor, action, target, before_state \`before\`, after_state \`after\`, reason, create_time createTime`,
};

export interface ListedOperation {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly before: object | null;
  readonly after: object | null;
  readonly reason: string | null;
  readonly createTime: string;
}

/** Null: any. */
export interface OperationFilter {
  readonly actor: string | null;
  readonly action: string | null;
  readonly target: string | null;
}

export function listOperations(
  sql: Sql,
  filter: OperationFilter,
  page: { beforeId: string | null; limit: number },
): Promise<Page<ListedOperation>> {
  const filters = equalities({ actor: filter.actor, action: filter.action, target: filter.target });
  return listPage(sql, { ...OPERATIONS, filters }, page);
}
