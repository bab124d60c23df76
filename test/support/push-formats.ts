/** One push in every form in which a partner may send it. */
import { gzipSync } from 'node:zlib';
import { BILL_FIELDS, STATION_FIELDS } from '../../src/domain/pushed-fields.ts';

export type Format = 'json' | 'ndjson' | 'csv';

export interface StationToSend {
  readonly bills: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

export interface Form {
  readonly name: string;
  readonly format: Format;
  readonly zipped: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<Format, string>> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
};

export const FORMS: readonly Form[] = (['json', 'ndjson', 'csv'] as const).flatMap((format) =>
  [false, true].map((zipped) => ({
    name: zipped ? `${format} gzip` : format,
    format,
    zipped,
    headers: {
      'content-type': TYPES[format],
      ...(zipped ? { 'content-encoding': 'gzip' } : {}),
    },
  })),
);

export const COLUMNS: readonly string[] = [...Object.keys(STATION_FIELDS), ...Object.keys(BILL_FIELDS)];

export function bodyIn(form: Form, stations: readonly StationToSend[]): Buffer {
  const text = textIn(form.format, stations);
  return form.zipped ? gzipSync(text) : Buffer.from(text);
}

export function textIn(format: Format, stations: readonly StationToSend[]): string {
  if (format === 'json') return JSON.stringify({ stations });
  if (format === 'ndjson') return `${stations.map((station) => JSON.stringify(station)).join('\n')}\n`;
  return csvOf(stations, COLUMNS);
}

export function csvOf(stations: readonly StationToSend[], columns: readonly string[]): string {
  const lines = stations.flatMap(({ bills, ...station }) =>
    bills.map((bill) => {
      const fields: Record<string, unknown> = { ...station, ...bill };
      return columns.map((name) => csvCell(fields[name])).join(',');
    }),
  );
  return `${[columns.join(','), ...lines].join('\n')}\n`;
}

export function csvCell(value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
