/** The answer for one pushed bill (ING-3). */
import type { RefusalReason } from './refusal.ts';

export interface Receipt {
  /** In request order, dense, from 0. */
  readonly index: number;
  /** As sent, as far as it can be repeated; null where it was no such thing. */
  readonly partnerStationNo: string | null;
  readonly billYearMonth: string | null;
  readonly rowId: string | null;
  readonly receipt: 'ACCEPTED' | 'REFUSED';
  readonly reason: RefusalReason | null;
  readonly pointer: string | null;
  readonly message: string | null;
  /** SHA-256 of the normalised row, lower-case hex. */
  readonly contentHash: string;
}
