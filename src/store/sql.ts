/** Statements, by how many rows they must or may give. Values are always parameters. */
import type { EntityManager } from '@mikro-orm/mysql';
import { RowCountError } from '../errors.ts';

export type SqlValue = string | number | bigint | boolean | null | Date | readonly SqlValue[];

/** What a function in `store/` needs: it runs alike inside and outside a transaction. */
export interface Sql {
  /** Any number of rows. */
  many<Row extends object>(statement: string, values?: readonly SqlValue[]): Promise<Row[]>;
  /** One row or null; more is a broken assumption. */
  maybeOne<Row extends object>(statement: string, values?: readonly SqlValue[]): Promise<Row | null>;
  /** Exactly one row. @throws RowCountError */
  one<Row extends object>(statement: string, values?: readonly SqlValue[]): Promise<Row>;
  /** Matched rows of an UPDATE or DELETE; for an INSERT with ON DUPLICATE KEY UPDATE see MySQL's counting. */
  change(statement: string, values?: readonly SqlValue[]): Promise<number>;
  /** Hits exactly `expected` rows. @throws RowCountError (ENG-10) */
  changeExactly(
    expected: number,
    what: string,
    statement: string,
    values?: readonly SqlValue[],
  ): Promise<void>;
  /** The generated id of a one-row INSERT, as a decimal string. */
  insert(statement: string, values?: readonly SqlValue[]): Promise<string>;
}

interface RunResult {
  readonly affectedRows: number;
  readonly insertId?: number | null;
}

export class SqlRunner implements Sql {
  readonly #em: EntityManager;

  constructor(em: EntityManager) {
    this.#em = em;
  }

  /** The one way to the database. */
  protected async run(
    statement: string,
    values: readonly SqlValue[],
    answer: 'all' | 'run',
  ): Promise<unknown> {
    return this.#em.execute(statement, [...values], answer);
  }

  async many<Row extends object>(statement: string, values: readonly SqlValue[] = []): Promise<Row[]> {
    return (await this.run(statement, values, 'all')) as Row[];
  }

  async maybeOne<Row extends object>(
    statement: string,
    values: readonly SqlValue[] = [],
  ): Promise<Row | null> {
    const rows = await this.many<Row>(statement, values);
    if (rows.length > 1) throw new RowCountError(headOf(statement), 1, rows.length);
    return rows[0] ?? null;
  }

  async one<Row extends object>(statement: string, values: readonly SqlValue[] = []): Promise<Row> {
    const row = await this.maybeOne<Row>(statement, values);
    if (row === null) throw new RowCountError(headOf(statement), 1, 0);
    return row;
  }

  async change(statement: string, values: readonly SqlValue[] = []): Promise<number> {
    const result = (await this.run(statement, values, 'run')) as RunResult;
    return result.affectedRows;
  }

  async changeExactly(
    expected: number,
    what: string,
    statement: string,
    values: readonly SqlValue[] = [],
  ): Promise<void> {
    const hit = await this.change(statement, values);
    if (hit !== expected) throw new RowCountError(what, expected, hit);
  }

  async insert(statement: string, values: readonly SqlValue[] = []): Promise<string> {
    const result = (await this.run(statement, values, 'run')) as RunResult;
    if (result.insertId === undefined || result.insertId === null)
      throw new RowCountError(headOf(statement), 1, 0);
    return String(result.insertId);
  }
}

function headOf(statement: string): string {
  return statement.trim().replace(/\s+/g, ' ').slice(0, 80);
}
