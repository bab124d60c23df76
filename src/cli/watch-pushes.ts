/** Looks at pushes until they are where they should be, and shows the funnel as it fills. */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../errors.ts';
import type { ApiClient } from './api-client.ts';
import { drawFunnel, type FunnelColumn, progressLine } from './funnel.ts';
import type { LiveLines } from './live-lines.ts';
import { type PushReport, rowsUnderWay } from './push-report.ts';

export interface WatchedPush {
  readonly label: string;
  readonly client: ApiClient;
  readonly pushId: string;
}

export interface Watch {
  readonly pushes: readonly WatchedPush[];
  readonly until: (reports: readonly PushReport[]) => boolean;
  /** What is waited for, for the message when it does not come. */
  readonly what: string;
  readonly deadlineMs: number;
  readonly lines: LiveLines;
}

const LOOK_EVERY_MS = 250;

/** @throws Failure `TIMED_OUT` that names what is still under way */
export async function watchPushes(watch: Watch): Promise<PushReport[]> {
  const endMs = Date.now() + watch.deadlineMs;
  for (;;) {
    const reports = await Promise.all(watch.pushes.map(readReport));
    watch.lines.show(draw(watch, reports));
    if (watch.until(reports)) {
      watch.lines.keep();
      return reports;
    }
    if (Date.now() > endMs) throw timedOut(watch, reports);
    await pause(LOOK_EVERY_MS);
  }
}

export function readReport(push: WatchedPush): Promise<PushReport> {
  return push.client.get<PushReport>(`/api/v1/pushes/${push.pushId}`);
}

export function nothingUnderWay(reports: readonly PushReport[]): boolean {
  return reports.every((report) => report.state !== 'IN_PROGRESS');
}

function draw(watch: Watch, reports: readonly PushReport[]): string[] {
  const columns: FunnelColumn[] = watch.pushes.map(({ label }, index) => ({
    label,
    report: reports[index]!,
  }));
  return watch.lines.isLive ? drawFunnel(columns, watch.lines.width) : columns.map(progressLine);
}

function timedOut(watch: Watch, reports: readonly PushReport[]): Failure {
  const left = watch.pushes.flatMap(({ label, pushId }, index) => {
    const places = reports[index]!.places.filter(({ place, rows }) => place.endsWith('_PENDING') && rows > 0);
    const at = places.map(({ place, rows }) => `${rows} at ${place}`).join(', ');
    return rowsUnderWay(reports[index]!) > 0 ? [`${label} (push ${pushId}): ${at}`] : [];
  });
  const said = left.length > 0 ? `still under way: ${left.join('; ')}` : 'nothing is under way';
  return new Failure(
    'TIMED_OUT',
    `Waited ${Math.round(watch.deadlineMs / 1000)} s for ${watch.what}; ${said}`,
  );
}
