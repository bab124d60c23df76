/** Why rows are where they are: their traces, put together where they say the same (COV-3). */
import { PLACE_MEANINGS, type PlaceName } from '../domain/place.ts';
import type { ApiClient } from './api-client.ts';
import type { PlaceNote } from './coverage-text.ts';
import type { PushReport } from './push-report.ts';

/** One pushed bill and what became of it, as the API tells it. */
export interface RowTrace {
  readonly index: number;
  readonly partnerStationNo: string | null;
  readonly billYearMonth: string | null;
  readonly place: PlaceName;
  readonly reason: string | null;
  readonly message: string | null;
  /** Of the station's task. */
  readonly taskCode: string | null;
  readonly supersededByPushId: string | null;
}

const ROWS_READ_MAX = 200;
const STATIONS_NAMED_MAX = 3;

/** Of what ended otherwise than wished; of what is done, or is under way, nothing needs saying. */
export async function readNotes(
  push: { readonly client: ApiClient; readonly pushId: string },
  report: PushReport,
): Promise<PlaceNote[]> {
  const places = report.places.filter(({ place, rows }) => rows > 0 && needsSaying(place));
  const notes = await Promise.all(places.map(async ({ place }) => notesOf(await readTraces(push, place))));
  return notes.flat();
}

export async function readTraces(
  push: { readonly client: ApiClient; readonly pushId: string },
  place: PlaceName,
): Promise<RowTrace[]> {
  const path = `/api/v1/pushes/${push.pushId}/bills?place=${place}&limit=${ROWS_READ_MAX}`;
  return (await push.client.get<{ items: RowTrace[] }>(path)).items;
}

function needsSaying(place: PlaceName): boolean {
  const { kind } = PLACE_MEANINGS[place];
  return kind === 'exception' || place === 'SUPERSEDED' || place === 'STALE';
}

/** Pure. */
export function notesOf(traces: readonly RowTrace[]): PlaceNote[] {
  const groups = Map.groupBy(traces, why);
  return [...groups].map(([said, group]) => ({
    place: group[0]!.place,
    rows: group.length,
    where: whereOf(group),
    why: said,
  }));
}

function why(trace: RowTrace): string {
  if (trace.supersededByPushId !== null) return `by push ${trace.supersededByPushId}`;
  const said = trace.message ?? 'no reason was given';
  return trace.reason === null || said.startsWith(trace.reason) ? said : `${said} (${trace.reason})`;
}

/** One bill by its number, a few stations by name. */
function whereOf(traces: readonly RowTrace[]): string {
  const [first] = traces;
  if (traces.length === 1) return `row ${first!.index}, ${first!.partnerStationNo} ${first!.billYearMonth}`;
  const stations = [...new Set(traces.map((trace) => trace.partnerStationNo))];
  return stations.length <= STATIONS_NAMED_MAX ? `${traces.length} bills of ${stations.join(', ')}` : '';
}
