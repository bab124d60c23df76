/**
 * A header line, then one bill a line with its station's columns. Every line is a station entry of its own, so that
 * the lines of a station need not stand together, and its header fields come from the first that is accepted (STA-5).
 */
import { CsvColumns } from './csv-columns.ts';
import { type CsvRecord, csvRecords } from './csv-records.ts';
import { lineBlocks, linePointer, malformedLine } from './line-blocks.ts';
import type { SourceEvent, StationSource } from './station-source.ts';

export const csvStations: StationSource = {
  pointers: { station: linePointer, bill: linePointer },
  read: readCsvStations,
};

async function* readCsvStations(
  pieces: AsyncIterable<Uint8Array>,
  strict: boolean,
): AsyncGenerator<readonly SourceEvent[]> {
  const shape = new CsvShape(strict);
  for await (const records of csvRecords(lineBlocks(pieces))) yield shape.take(records);
  shape.assertHeader();
}

class CsvShape {
  readonly #strict: boolean;
  #columns: CsvColumns | null = null;

  constructor(strict: boolean) {
    this.#strict = strict;
  }

  take(records: readonly CsvRecord[]): readonly SourceEvent[] {
    const events: SourceEvent[] = [];
    for (const record of records) {
      if (this.#columns === null) this.#columns = new CsvColumns(record, this.#strict);
      else events.push(...lineEvents(this.#columns, record));
    }
    return events;
  }

  /** @throws Problem where there were blank lines alone */
  assertHeader(): void {
    if (this.#columns === null) throw malformedLine(1, 'send a header line with the names of the columns.');
  }
}

function lineEvents(columns: CsvColumns, record: CsvRecord): SourceEvent[] {
  const { station, bill } = columns.read(record);
  const step = record.line;
  return [
    { kind: 'bill', fields: bill, stationStep: step, step: 0 },
    { kind: 'station', fields: station, step },
  ];
}
