/** Conditions that tell what is properly on its way from what is wrong, for the statements of this folder. */
import { TaskStatus } from '../../domain/task-status.ts';
import { placesNamed } from '../place-lists.ts';
import { isPlatformChangeDue } from '../platform-changes.ts';

/** A task that will go on by itself, was stopped, or was asked to run by hand. Ended or failed for good: not open. */
export function isOpen(task: string): string {
  return `(${task}.status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING}) OR (${task}.status = ${TaskStatus.FAILED}
    AND (${task}.retry_count < ${task}.max_retry_count OR ${task}.manually_due = 1)))`;
}

/** Not ended: also what failed for good and waits for a person, who is told elsewhere. */
export function isUnfinished(task: string): string {
  return `${task}.status IN (${TaskStatus.PENDING}, ${TaskStatus.RUNNING}, ${TaskStatus.FAILED})`;
}

/** The bill's own pushed row has not come as far as the ledger: on its way, or its place says why not. */
export const NOT_IN_LEDGER = placesNamed(['DIFF_PENDING', 'DIFF_FAILED', 'CANCELLED']);

/** It has not come as far as the refresh of its account. */
export const NOT_REFRESHED = `${NOT_IN_LEDGER}, ${placesNamed(['ACCOUNT_PENDING', 'ACCOUNT_FAILED', 'SKIPPED'])}`;

/** It has not come as far as the read model. */
export const NOT_IN_SNAPSHOT = `${NOT_REFRESHED}, ${placesNamed(['SNAPSHOT_PENDING', 'SNAPSHOT_FAILED'])}`;

/** The place row of the pushed row that wrote the partner bill `bill`. */
export function placeOfBill(bill: string, place: string): string {
  return `pushed_row_place ${place} ON ${place}.push_id = ${bill}.push_id AND ${place}.row_no = ${bill}.push_row_no`;
}

/**
 * An unfinished account refresh that comes from no push (verification, platform bill, payment, full refresh) speaks of the
 * difference `diff`, or the message of a platform bill that will ask for one (DEC-24). Those that come from a push are told
 * by the place of the bill's own row.
 */
export function isRefreshDue(diff: string): string {
  return `(EXISTS (SELECT 1 FROM fi_async_task named FORCE INDEX (idx_task_push)
            WHERE named.push_id = 0 AND named.stage = 'account-shard' AND ${isUnfinished('named')}
              AND JSON_CONTAINS(named.task_data, JSON_QUOTE(CAST(${diff}.id AS CHAR)), '$.differenceFactIds'))
    OR EXISTS (SELECT 1 FROM fi_async_task everything FORCE INDEX (idx_task_push)
            WHERE everything.push_id = 0 AND everything.stage = 'account-full' AND ${isUnfinished('everything')}
              AND everything.partner_org_id = ${diff}.partner_org_id)
    OR ${isPlatformChangeDue({ partner: `${diff}.partner_org_id`, station: `${diff}.station_id`, month: `${diff}.share_month` })})`;
}
