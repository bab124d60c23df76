/** What inspection found, by run and rule (INV-1). It reads and reports; it repairs nothing. */
import { defineEntity, p } from '@mikro-orm/core';
import { createdAt, id, instant, json, text } from './columns.ts';

export const InspectionRun = defineEntity({
  name: 'InspectionRun',
  tableName: 'inspection_run',
  properties: {
    id: id().primary(),
    /** SCHEDULE, HAND or VERIFY. */
    trigger: text(16).fieldName('run_trigger'),
    startedTime: createdAt(),
    endedTime: instant().nullable(),
  },
});

/** OK, FINDINGS, or BROKEN: a rule that breaks does not stop the others. */
export const InspectionResult = defineEntity({
  name: 'InspectionResult',
  tableName: 'inspection_result',
  properties: {
    runId: id().primary(),
    ruleCode: text(48).primary(),
    outcome: text(12),
    findingCount: p.integer().default(0),
    tookMs: p.integer().default(0),
    errorMessage: text(1000).nullable(),
  },
});

export const InspectionFinding = defineEntity({
  name: 'InspectionFinding',
  tableName: 'inspection_finding',
  indexes: [{ name: 'idx_finding_run', properties: ['runId', 'ruleCode', 'id'] }],
  properties: {
    id: id().primary(),
    runId: id(),
    ruleCode: text(48),
    targetType: text(40),
    targetId: text(120),
    detail: json(),
    createTime: createdAt(),
  },
});
