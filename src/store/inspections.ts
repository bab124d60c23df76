/** Runs of inspection, their results by rule, and their findings (INV-1). */
import type { Finding, InspectionTrigger, RuleOutcome, RuleResult } from '../domain/inspection.ts';
import { equalities, listPage, type Page } from './list-page.ts';
import type { Sql } from './sql.ts';

const FINDINGS_PER_INSERT = 200;
/** Rows removed in one go; the next run goes on. */
const OLD_FINDINGS_PER_RUN_MAX = 5_000;

/** @returns the run's id */
export async function beginInspection(sql: Sql, trigger: InspectionTrigger): Promise<string> {
  return sql.insert('INSERT INTO inspection_run (run_trigger, started_time) VALUES (?, NOW(3))', [trigger]);
}

/** Results, findings and the run's end, in the caller's transaction. */
export async function keepResults(sql: Sql, runId: string, results: readonly RuleResult[]): Promise<void> {
  for (const result of results) {
    await sql.change(
      `INSERT INTO inspection_result (run_id, rule_code, outcome, finding_count, took_ms, error_message)
       VALUES (?, ?, ?, ?, ?, ?)`,
      [runId, result.code, result.outcome, result.findingCount, result.tookMs, result.error],
    );
    await insertFindings(sql, runId, result);
  }
  await sql.changeExactly(
    1,
    'ending an inspection',
    'UPDATE inspection_run SET ended_time = NOW(3) WHERE id = ? AND ended_time IS NULL',
    [runId],
  );
}

async function insertFindings(sql: Sql, runId: string, { code, findings }: RuleResult): Promise<void> {
  for (let from = 0; from < findings.length; from += FINDINGS_PER_INSERT) {
    const chunk = findings.slice(from, from + FINDINGS_PER_INSERT);
    await sql.change(
      `INSERT INTO inspection_finding (run_id, rule_code, target_type, target_id, detail)
       VALUES ${chunk.map(() => '(?, ?, ?, ?, ?)').join(', ')}`,
      chunk.flatMap((finding) => [
        runId,
        code,
        finding.targetType,
        finding.targetId,
        JSON.stringify(finding.detail),
      ]),
    );
  }
}

/** What is older than the latest `kept` runs, a bounded part of it at a time. */
export async function removeOldInspections(sql: Sql, kept: number): Promise<void> {
  const oldest = await sql.maybeOne<{ id: string }>(
    `SELECT id FROM inspection_run ORDER BY id DESC LIMIT 1 OFFSET ${kept - 1}`,
  );
  if (oldest === null) return;
  const removed = await sql.change(
    `DELETE FROM inspection_finding WHERE run_id < ? ORDER BY run_id LIMIT ${OLD_FINDINGS_PER_RUN_MAX}`,
    [oldest.id],
  );
  if (removed === OLD_FINDINGS_PER_RUN_MAX) return;
  await sql.change('DELETE FROM inspection_result WHERE run_id < ?', [oldest.id]);
  await sql.change('DELETE FROM inspection_run WHERE id < ?', [oldest.id]);
}

export interface InspectionRunRow {
  readonly id: string;
  readonly trigger: string;
  readonly startedTime: string;
  readonly endedTime: string | null;
}

const RUN_COLUMNS = 'id, run_trigger `trigger`, started_time startedTime, ended_time endedTime';

/** The latest that has ended; null before the first. */
export async function findLatestInspection(sql: Sql): Promise<InspectionRunRow | null> {
  return sql.maybeOne<InspectionRunRow>(
    `SELECT ${RUN_COLUMNS} FROM inspection_run WHERE ended_time IS NOT NULL ORDER BY id DESC LIMIT 1`,
  );
}

export async function findInspection(sql: Sql, runId: string): Promise<InspectionRunRow | null> {
  return sql.maybeOne<InspectionRunRow>(`SELECT ${RUN_COLUMNS} FROM inspection_run WHERE id = ?`, [runId]);
}

export interface InspectionResultRow {
  readonly code: string;
  readonly outcome: RuleOutcome;
  readonly findingCount: number;
  readonly tookMs: number;
  readonly error: string | null;
}

export async function listInspectionResults(sql: Sql, runId: string): Promise<InspectionResultRow[]> {
  return sql.many<InspectionResultRow>(
    `SELECT rule_code code, outcome, finding_count findingCount, took_ms tookMs, error_message error
       FROM inspection_result WHERE run_id = ? ORDER BY rule_code`,
    [runId],
  );
}

export interface ListedFinding extends Finding {
  readonly id: string;
  readonly runId: string;
  readonly ruleCode: string;
  readonly createTime: string;
}

/** Of one run, newest first. */
export function listFindings(
  sql: Sql,
  filter: { readonly runId: string; readonly ruleCode: string | null },
  page: { beforeId: string | null; limit: number },
): Promise<Page<ListedFinding>> {
  return listPage(
    sql,
    {
      from: 'inspection_finding',
      key: 'id',
      columns: `id, run_id runId, rule_code ruleCode, target_type targetType, target_id targetId, detail,
        create_time createTime`,
      filters: equalities({ run_id: filter.runId, rule_code: filter.ruleCode }),
      selective: true,
    },
    page,
  );
}

/** Of the latest run that has ended; none before the first. */
export async function listLatestResults(sql: Sql): Promise<InspectionResultRow[]> {
  const run = await findLatestInspection(sql);
  return run === null ? [] : listInspectionResults(sql, run.id);
}
