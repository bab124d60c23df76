/** A push's coverage, as it stands, for whoever watches the demo. */
import { coverageText } from '../coverage-text.ts';
import type { PushReport } from '../push-report.ts';
import { readNotes } from '../read-notes.ts';
import type { SentPush } from './send-example.ts';
import type { Telling } from './telling.ts';

export async function tellCoverage({ say }: Telling, push: SentPush, report: PushReport): Promise<void> {
  const { expected, pushId } = push;
  say(`\n${expected.orgCode} ${expected.partnerName}, push ${pushId} (${expected.file}: ${expected.title})`);
  for (const line of coverageText(report, await readNotes(push, report))) say(`  ${line}`);
}
