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
    for (let at = 0; at < ends.length; at++) {
      const end = ends[at]!;
      // There may be millions of them in a small zip: each costs a look at its bytes, no more.
      if (isBlank(bytes, start, end)) {
        start = end;
        continue;
      }
      const line = firstLine + at;
      shape.startAt(line);
      for (const event of shape.take(reader.read(bytes.toString('utf8', start, end), line)))
        events.push(event);
      start = end;
    }
    yield events;
  }
}

/** Of what JSON takes for white space. */
function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte !== 0x0a && byte !== 0x0d && byte !== 0x20 && byte !== 0x09) return false;
  }
  return true;
}
