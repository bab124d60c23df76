/** One station a line, `{"partnerStationNo",…,"bills":[{…}]}`: the same objects as in the `stations` of a JSON push. */
import { JsonLineReader } from './json-tokens.ts';
import { lineBlocks, linePointer } from './line-blocks.ts';
import { PushShape } from './push-shape.ts';
import type { SourceEvent, StationSource } from './station-source.ts';

export const ndjsonStations: StationSource = {
  pointers: {
    station: linePointer,
    bill: (line, billStep) => `${linePointer(line)}/bills/${billStep}`,
  },
  read: readNdjsonStations,
};

async function* readNdjsonStations(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly SourceEvent[]> {
  const reader = new JsonLineReader();
  const shape = new PushShape(ndjsonStations.pointers, 'stations');
  for await (const { firstLine, bytes, ends } of lineBlocks(pieces)) {
    const events: SourceEvent[] = [];
    let start = 0;
    for (const [at, end] of ends.entries()) {
      const line = firstLine + at;
      shape.startAt(line);
      for (const event of shape.take(reader.read(bytes.toString('utf8', start, end), line)))
        events.push(event);
      start = end;
    }
    yield events;
  }
}
