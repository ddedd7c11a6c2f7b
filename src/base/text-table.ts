/** A column of a text table. */
export interface Column<R> {
  readonly title: string;
  readonly align: 'left' | 'right';
  show(row: R): string;
}

/** The lines of a table: titles, then the rows, aligned. */
export function table<R>(columns: readonly Column<R>[], rows: readonly R[]): string[] {
  const cells = columns.map((column) => [column.title, ...rows.map((row) => column.show(row))]);
  const widths = cells.map((column) => Math.max(...column.map((text) => text.length)));
  return Array.from({ length: rows.length + 1 }, (_, row) =>
    columns
      .map(({ align }, i) =>
        align === 'left' ? cells[i][row].padEnd(widths[i]) : cells[i][row].padStart(widths[i]),
      )
      .join('  ')
      .trimEnd(),
  );
}
