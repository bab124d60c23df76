/** Columns as wide as their widest cell. Pure. */
const GAP = '  ';

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join(GAP)
      .trimEnd();
  return [line(head), ...rows.map(line)];
}
