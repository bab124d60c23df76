/** `{"stations":[{…,"bills":[{…}]}],"totalCount","totalAmount"}`, read token by token. */
import { JsonTokenReader } from './json-tokens.ts';
import { PushShape } from './push-shape.ts';
import type { SourceEvent, StationSource } from './station-source.ts';

export const jsonStations: StationSource = {
  pointers: {
    station: (step) => `/stations/${step}`,
    bill: (stationStep, billStep) => `/stations/${stationStep}/bills/${billStep}`,
  },
  read: readJsonStations,
};

async function* readJsonStations(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<readonly SourceEvent[]> {
  const reader = new JsonTokenReader();
  const shape = new PushShape(jsonStations.pointers, 'document');
  for await (const bytes of pieces) yield shape.take(reader.read(bytes));
  yield shape.take(reader.end());
  shape.assertStations();
}
