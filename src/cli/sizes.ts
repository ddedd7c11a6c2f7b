import type { Bounds, Dim, DimBindings } from '../base/dim/index.js';
import { symbolTable } from '../base/dim/index.js';
import { UsageError } from './usage.js';

/** Parses the values of `--size`: sizes by name. */
export function sizesFrom(texts: readonly string[]): DimBindings {
  return new Map(
    texts.map((text): [string, number] => {
      const [, name, size] = /^([^=]+)=(\d+)$/.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`--size ${text}: give NAME=N, a whole number`);
      return [name, Number(size)];
    }),
  );
}

/** Binds the symbols of dimensions to the requested sizes, or to `otherwise` within the bounds. */
export function bound(dims: readonly Dim[], asked: DimBindings, otherwise: number): DimBindings {
  const table = new Map<string, Bounds>();
  for (const dim of dims) symbolTable(dim, table);
  return new Map(
    [...table].map(([name, { min, max }]) => [
      name,
      asked.get(name) ?? Math.min(Math.max(otherwise, min), max),
    ]),
  );
}

/** Refuses sizes of unknown names. */
export function checkSizes(asked: DimBindings, known: ReadonlySet<string>): void {
  for (const name of asked.keys()) {
    if (known.has(name)) continue;
    const names = [...known].join(', ') || 'none';
    throw new UsageError(`--size ${name}: the graph has no such size; its sizes: ${names}`);
  }
}
