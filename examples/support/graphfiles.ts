import { readFileSync, writeFileSync } from 'node:fs';
import * as kn from '../../src/index.js';

/** Writes graphs with their parameters, and whatever else a reader needs, to one JSON file. */
export function saveGraphs(
  path: string,
  graphs: ReadonlyMap<string, kn.StaticGraph>,
  notes: object = {},
): void {
  const entries = [...graphs].map(([name, graph]) => [name, graph.toJSON()]);
  writeFileSync(path, JSON.stringify({ notes, graphs: Object.fromEntries(entries) }));
}

/** Reads what `saveGraphs` wrote. */
export function loadGraphs<N>(path: string): {
  readonly graphs: ReadonlyMap<string, kn.StaticGraph>;
  readonly notes: N;
} {
  const { notes, graphs } = JSON.parse(readFileSync(path, 'utf8')) as {
    notes: N;
    graphs: Record<string, unknown>;
  };
  const entries = Object.entries(graphs).map(([name, json]): [string, kn.StaticGraph] => [
    name,
    kn.StaticGraph.fromJSON(json),
  ]);
  return { graphs: new Map(entries), notes };
}
