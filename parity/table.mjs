/** An error in units of the tolerance. */
export function unitsText(units) {
  if (units === Infinity) return 'WRONG';
  if (units === 0) return '0';
  const text = units < 0.001 ? '< 0.001' : units.toPrecision(2);
  return units > 1 ? `WRONG ${text}` : text;
}

/** Numbered remarks below a table, each of them once. */
export class Notes {
  #numbers = new Map();

  mark(text) {
    if (!this.#numbers.has(text)) this.#numbers.set(text, this.#numbers.size + 1);
    return `(${this.#numbers.get(text)})`;
  }

  lines() {
    return [...this.#numbers].map(([text, number]) => `(${number}) ${text}`);
  }
}

/** Prints rows as they come, in columns that are as wide as their headings ask for. */
export function tablePrinter(columns, print) {
  const line = (cells) => cells.map((cell, i) => cell.padEnd(columns[i].width)).join('  ').trimEnd(); // prettier-ignore
  print(line(columns.map(({ heading }) => heading)));
  print(line(columns.map(({ width }) => '-'.repeat(width))));
  return (row) => print(line(row));
}

/** The rows of a model, one for each of its runs. */
export function rowsOf(name, sizes, outcomes, notes) {
  return sizes.map((size, run) => [
    run === 0 ? name : '',
    size,
    ...outcomes.map((outcome) => {
      if (outcome.kind === 'failed') return `FAILED ${notes.mark(outcome.why)}`;
      if (outcome.kind === 'unsupported') return `no file ${notes.mark(outcome.why)}`;
      return unitsText(outcome.units[run]);
    }),
  ]);
}
