/** The engine's tables: what is to be done, who may do it, what may not be done at the same time (spec 05). */
import { defineEntity, p } from '@mikro-orm/core';
import { code, counter, createdAt, flag, id, instant, json, text } from './columns.ts';

/** ENG-1: the row is the truth of a piece of work. `claimable` is stored so that a claim reads one index (ENG-8). */
export const Task = defineEntity({
  name: 'Task',
  tableName: 'fi_async_task',
  indexes: [
    {
      name: 'idx_task_claim',
      properties: ['claimable', 'stage', 'partnerOrgId', 'nextExecuteTime', 'retryCount', 'id'],
    },
    { name: 'idx_task_failed', properties: ['failed', 'stage', 'id'] },
    { name: 'idx_task_push', properties: ['pushId', 'stage', 'status'] },
    { name: 'idx_task_business_key', properties: ['businessKey'] },
  ],
  uniques: [{ name: 'uk_task_code_business', properties: ['taskCode'] }],
  properties: {
    id: id().primary(),
    taskType: text(64),
    taskCode: text(160),
    businessKey: text(400),
    taskData: json(),
    status: code().default(0),
    finalResult: text(16).nullable(),
    activation: flag(1),
    retryCount: counter(),
    maxRetryCount: p.integer(),
    nextExecuteTime: instant(),
    runningAttempt: counter(),
    requestGeneration: p.integer().default(1),
    crashCount: counter(),
    /** Claims since the task last ended or recorded a step, those that only found a busy guard left out (INV-1). */
    claimsWithoutProgress: counter(),
    stage: text(32),
    partnerOrgId: id().defaultRaw('0'),
    pushId: id().defaultRaw('0'),
    slotNo: p.integer().unsigned().nullable(),
    slotFence: id().nullable(),
    worker: text(80).nullable(),
    manuallyDue: flag(),
    busySince: instant().nullable(),
    errorCode: text(40).nullable(),
    errorMessage: text(1000).nullable(),
    result: json().nullable(),
    delFlag: flag(),
    startedTime: instant().nullable(),
    finishedTime: instant().nullable(),
    createTime: createdAt(),
    updateTime: createdAt(),
    claimable: p
      .tinyint()
      .nullable()
      .generated(
        '(if(status in (0, 3) and activation = 1 and del_flag = 0 and (retry_count < max_retry_count or manually_due = 1), 1, null)) stored',
      ),
    failed: p.tinyint().nullable().generated('(if(status = 3, 1, null)) stored'),
  },
});

/** ENG-5: a partner's cap at a stage is the number of its rows here. */
export const StageSlot = defineEntity({
  name: 'StageSlot',
  tableName: 'stage_slot',
  properties: {
    stage: text(32).primary(),
    partnerOrgId: id().primary(),
    slotNo: p.integer().unsigned().primary(),
    holder: text(80).nullable(),
    fence: id().defaultRaw('0'),
    leaseEnd: instant().nullable(),
    /** The tasks of the batch in hand, so that rescue is an update by primary key. */
    taskIds: json().nullable(),
    takenAt: instant().nullable(),
    /** The cap was lowered: whoever holds or takes it next removes it. */
    retired: flag(),
  },
});

/** ENG-16: one row per platform station (kind 2) or (partner, partner station number) (kind 1). */
export const StationGuard = defineEntity({
  name: 'StationGuard',
  tableName: 'station_guard',
  properties: {
    kind: code().primary(),
    partnerOrgId: id().primary(),
    platformStationId: id().primary(),
    partnerStationNo: text(64).primary(),
    fence: id().defaultRaw('0'),
  },
});

export const StageControl = defineEntity({
  name: 'StageControl',
  tableName: 'stage_control',
  properties: {
    stage: text(32).primary(),
    paused: flag(),
    updatedBy: text(80).nullable(),
    updateTime: createdAt(),
  },
});

/** A job of the scheduler that people may hold, as they hold stages (RET-1). */
export const JobControl = defineEntity({
  name: 'JobControl',
  tableName: 'job_control',
  properties: {
    name: text(32).primary(),
    paused: flag(),
    updatedBy: text(80).nullable(),
    updateTime: createdAt(),
  },
});

/** ENG-14: a request is a row of its own, because the worker holds the task row locked. */
export const TaskStopRequest = defineEntity({
  name: 'TaskStopRequest',
  tableName: 'task_stop_request',
  properties: {
    taskId: id().primary().autoincrement(false),
    requestedBy: text(80),
    requestedAt: createdAt(),
  },
});

/** ENG-7: one elected scan; who leads is a row with a lease by the database's clock. */
export const SchedulerLeader = defineEntity({
  name: 'SchedulerLeader',
  tableName: 'scheduler_leader',
  properties: {
    name: text(32).primary(),
    holder: text(80).nullable(),
    fence: id().defaultRaw('0'),
    leaseEnd: instant().nullable(),
  },
});

export const OperationAudit = defineEntity({
  name: 'OperationAudit',
  tableName: 'operation_audit',
  properties: {
    id: id().primary(),
    actor: text(80),
    action: text(64),
    target: text(200),
    beforeState: json().nullable(),
    afterState: json().nullable(),
    reason: text(500).nullable(),
    createTime: createdAt(),
  },
});
