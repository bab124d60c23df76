/** The API's answers about pushes, as a client reads them (HTTP, fixed). */
import type { FunnelStage, PlaceName } from '../domain/place.ts';

export interface RowsAndAmount {
  readonly rows: number;
  /** CNY, of the pushed rents, as a decimal string. */
  readonly amount: string;
}

export interface Receipt {
  readonly index: number;
  readonly partnerStationNo: string | null;
  readonly billYearMonth: string | null;
  readonly rowId: string | null;
  readonly receipt: 'ACCEPTED' | 'REFUSED';
  readonly reason: string | null;
  readonly pointer: string | null;
  readonly message: string | null;
}

export interface PushReply {
  readonly pushId: string;
  readonly traceId: string;
  readonly code: string;
  readonly counts: { readonly requested: number; readonly accepted: number; readonly refused: number };
  readonly amounts: { readonly requested: string; readonly accepted: string; readonly refused: string };
  readonly expiresAt: string;
  readonly receipts: readonly Receipt[];
}

export interface FunnelStep extends RowsAndAmount {
  readonly stage: FunnelStage;
  readonly dropped: readonly (RowsAndAmount & { readonly reason: string })[];
  readonly pending: RowsAndAmount;
}

export interface PlaceSum extends RowsAndAmount {
  readonly place: PlaceName;
}

export interface PushReport {
  readonly pushId: string;
  readonly traceId: string;
  readonly state: 'IN_PROGRESS' | 'COMPLETE' | 'COMPLETE_WITH_EXCEPTIONS';
  readonly asOf: string;
  readonly stationOutcome: string | null;
  readonly funnel: readonly FunnelStep[];
  readonly places: readonly PlaceSum[];
}

export function rowsAt(report: PushReport, place: PlaceName): number {
  return report.places.find((sum) => sum.place === place)?.rows ?? 0;
}

export function rowsThatReached(report: PushReport, stage: FunnelStage): number {
  return report.funnel.find((step) => step.stage === stage)?.rows ?? 0;
}

export function rowsUnderWay(report: PushReport): number {
  return report.funnel.reduce((sum, step) => sum + step.pending.rows, 0);
}
