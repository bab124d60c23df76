/** The database's `2026-11-30 10:42:07.123` (UTC) as JSON has it: `2026-11-30T10:42:07.123Z`. */
export function isoInstant(text: string): string {
  return `${text.replace(' ', 'T')}Z`;
}
