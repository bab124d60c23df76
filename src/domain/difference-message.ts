/**
 * A difference message, with an identity of its own (DIF-1 to DIF-3): a segment of committed stations of one push, or
 * platform bills that were created, changed or deleted (DIF-4).
 */
import { createHash, randomInt } from 'node:crypto';

/** A bill in a message, with the version that it was handed over with. Short names: there are up to 500 in a message. */
export interface MessageBill {
  readonly billId: string;
  readonly rowNo: number;
  readonly dataVersion: string;
}

export interface MessageStation {
  readonly stationTaskId: string;
  readonly partnerStationNo: string;
  /** STA-13; null where the station had no platform station when its bills were written. */
  readonly batchDeduction: string | null;
  readonly bills: readonly MessageBill[];
}

export interface PartnerEntry {
  readonly entry: 'PARTNER_BILLS';
  readonly pushId: string;
  /** With each bill's dataVersion: the order number under which the bills were handed over. */
  readonly acceptNo: string;
  readonly stations: readonly MessageStation[];
}

/** Platform bills of a station, by the months whose differences are to follow them. */
export interface PlatformMessageStation {
  readonly platformStationId: string;
  readonly bills: readonly { readonly billId: string; readonly billYearMonth: string }[];
}

/** Both platform entries say which station-months to look at again; what is written is what stands there then. */
export interface PlatformEntry {
  readonly entry: 'PLATFORM_CHANGED' | 'PLATFORM_DELETED';
  readonly stations: readonly PlatformMessageStation[];
}

export interface DifferenceMessage<Entry extends PartnerEntry | PlatformEntry = PartnerEntry> {
  readonly taskMainId: string;
  readonly parentTraceId: string;
  /** The segment's closing time in ms since 1970, stored once; parts that are split off keep it. */
  readonly startTime: string;
  readonly recordTimestamp: string;
  readonly requestparams: Entry;
}

export type AnyDifferenceMessage = DifferenceMessage | DifferenceMessage<PlatformEntry>;

export function isPartnerMessage(message: AnyDifferenceMessage): message is DifferenceMessage {
  return message.requestparams.entry === 'PARTNER_BILLS';
}

const NO_PUSH = '0';

/** The push that a message speaks of and its order number; a platform bill comes from none. */
export function orderOf(message: AnyDifferenceMessage): { pushId: string; acceptNo: string } {
  if (!isPartnerMessage(message)) return { pushId: NO_PUSH, acceptNo: NO_PUSH };
  const { pushId, acceptNo } = message.requestparams;
  return { pushId, acceptNo };
}

const RANDOM_BITS = 21n;

/** A positive 63-bit id that grows with time: milliseconds and 21 random bits. Not an instant (DIF-3 refuses to read it as one). */
export function newTaskMainId(nowMs: number): string {
  return String((BigInt(nowMs) << RANDOM_BITS) | BigInt(randomInt(1 << Number(RANDOM_BITS))));
}

/** DIF-2 */
export function requestIdOf(message: AnyDifferenceMessage): string {
  if (/^[1-9]\d*$/.test(message.taskMainId)) return `MONTHLY_DIFF:${message.taskMainId}`;
  return `MONTHLY_DIFF:${createHash('sha256').update(JSON.stringify(message.requestparams)).digest('hex')}`;
}

export function messageTaskCode(message: AnyDifferenceMessage): string {
  return requestIdOf(message);
}

/** The same message for other stations: a new identity, the parent's start time and trace (DIF-16). */
export function withStations<Entry extends PartnerEntry | PlatformEntry>(
  message: DifferenceMessage<Entry>,
  stations: Entry['stations'],
  nowMs: number,
): DifferenceMessage<Entry> {
  return {
    ...message,
    taskMainId: newTaskMainId(nowMs),
    requestparams: { ...message.requestparams, stations },
  };
}

/** The same message under another id of the same millisecond: its own was taken. */
export function withIdDrawnAgain(message: AnyDifferenceMessage): AnyDifferenceMessage {
  return { ...message, taskMainId: newTaskMainId(Number(BigInt(message.taskMainId) >> RANDOM_BITS)) };
}

/** The pushed rows that a message carries; a platform bill is none. */
export function rowsOfMessage(message: AnyDifferenceMessage): number[] {
  return isPartnerMessage(message) ? rowNosOf(message.requestparams.stations) : [];
}

export function rowNosOf(stations: readonly MessageStation[]): number[] {
  return stations.flatMap((station) => station.bills.map((bill) => bill.rowNo));
}
