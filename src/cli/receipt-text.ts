/** The answer to a push, for people: what was accepted, and each refused bill with the receipt's own sentence. Pure. */
import { countOf, grouped } from './figures.ts';
import type { PushReply, Receipt } from './push-report.ts';

const REFUSED_SHOWN_MAX = 20;

export function receiptText(reply: PushReply): string[] {
  const { counts, amounts } = reply;
  const refused = reply.receipts.filter((receipt) => receipt.receipt === 'REFUSED');
  return [
    `push ${reply.pushId ?? '(not stored)'}: ${reply.code}, ${grouped(counts.accepted)} of ${countOf(counts.requested)}, ` +
      `${grouped(amounts.accepted)} of ${grouped(amounts.requested)} CNY accepted`,
    ...refused.slice(0, REFUSED_SHOWN_MAX).map((receipt) => `  refused ${refusalLine(receipt)}`),
    ...(refused.length > REFUSED_SHOWN_MAX ? [`  … and ${refused.length - REFUSED_SHOWN_MAX} more`] : []),
  ];
}

function refusalLine(receipt: Receipt): string {
  const bill = [receipt.partnerStationNo, receipt.billYearMonth].filter((text) => text !== null).join(' ');
  return `row ${receipt.index}, ${bill}: ${receipt.message ?? receipt.reason} (${receipt.reason})`;
}
