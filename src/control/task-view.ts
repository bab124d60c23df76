/** A task as people see it: names for numbers, ISO 8601 for instants, strings for ids. */
import { Activation, taskStatusName } from '../domain/task-status.ts';
import { isoInstant } from '../store/instant.ts';
import type { ListedTask } from '../store/task-lists.ts';

export function taskView(task: ListedTask) {
  return {
    id: task.id,
    taskCode: task.taskCode,
    taskType: task.taskType,
    businessKey: task.businessKey,
    stage: task.stage,
    partnerOrgId: task.partnerOrgId,
    pushId: task.pushId,
    status: taskStatusName(task.status),
    finalResult: task.finalResult,
    activation: task.activation === Activation.ACTIVE ? 'ACTIVE' : 'STOPPED',
    retryCount: task.retryCount,
    maxRetryCount: task.maxRetryCount,
    crashCount: task.crashCount,
    runningAttempt: task.runningAttempt,
    requestGeneration: task.requestGeneration,
    manuallyDue: task.manuallyDue === 1,
    slotNo: task.slotNo,
    slotFence: task.slotFence,
    worker: task.worker,
    errorCode: task.errorCode,
    errorMessage: task.errorMessage,
    nextExecuteTime: isoInstant(task.nextExecuteTime),
    busySince: instantOrNull(task.busySince),
    startedTime: instantOrNull(task.startedTime),
    finishedTime: instantOrNull(task.finishedTime),
    createTime: isoInstant(task.createTime),
    updateTime: isoInstant(task.updateTime),
  };
}

export function instantOrNull(text: string | null): string | null {
  return text === null ? null : isoInstant(text);
}
