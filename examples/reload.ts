// The second process of `npm start`: it knows the saved files and the test data, not the networks' source.
import { arraysOf, batchByLength, loadNames } from './names/data.js';
import { loadDigits } from './digits/data.js';
import { accuracyOf, countRight } from './support/accuracy.js';
import { loadGraphs } from './support/graphfiles.js';

/** The accuracy of the saved digit graph on the held-out images. */
export function reloadDigits(path: string): number {
  const graph = loadGraphs(path).graphs.get('digits')!;
  const { images, labels } = loadDigits().test;
  const [logits] = Object.values(graph.run({ [graph.inputNames[0]]: images }));
  return accuracyOf(logits, labels);
}

/** What the file of the name graphs says beside the graphs. */
interface NameNotes {
  readonly alphabet: readonly string[];
  /** The length of the longest names there are graphs for. */
  readonly longest: number;
}

/** The accuracy of the saved name graphs, one a length, on the names of unseen entities. */
export function reloadNames(path: string): number {
  const { graphs, notes } = loadGraphs<NameNotes>(path);
  const alphabet = new Map(notes.alphabet.map((character, i) => [character, i + 1]));
  const { test } = loadNames(notes.longest);
  let right = 0;
  for (const batch of batchByLength(test, alphabet, Infinity)) {
    const { characters, languages } = arraysOf(batch);
    const graph = graphs.get(String(characters.shape[1]))!;
    const [logits] = Object.values(graph.run({ [graph.inputNames[0]]: characters }));
    right += countRight(logits, languages);
  }
  return right / test.length;
}

if (process.argv.length === 4) {
  const [digits, names] = process.argv.slice(2);
  console.log(JSON.stringify({ digits: reloadDigits(digits), names: reloadNames(names) }));
}
