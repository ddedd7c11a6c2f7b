import { readFileSync, writeFileSync } from 'node:fs';
import * as kn from '../../src/index.js';

/** Where the notes of a graph are: beside it, since its own file is one that `kaon inspect` and `kaon run` open. */
const notesOf = (path: string): string => path.replace(/(\.json)?$/, '.notes.json');

/** Writes a graph with its parameters to a JSON file, and whatever else a reader needs to another one. */
export function saveGraph(path: string, graph: kn.StaticGraph, notes: object = {}): void {
  writeFileSync(path, JSON.stringify(graph));
  writeFileSync(notesOf(path), JSON.stringify(notes));
}

/** Reads what `saveGraph` wrote. */
export function loadGraph<N>(path: string): { readonly graph: kn.StaticGraph; readonly notes: N } {
  const graph = kn.StaticGraph.fromJSON(readFileSync(path, 'utf8'));
  const notes: N = JSON.parse(readFileSync(notesOf(path), 'utf8'));
  return { graph, notes };
}
