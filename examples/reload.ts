// The second process of `npm start`: it knows the saved files and the test data, not the networks' source.
import { batchesOf, loadNames } from './names/data.js';
import { loadDigits } from './digits/load.js';
import { accuracyOf, countRight } from './support/accuracy.js';
import { startOn } from './support/device.js';
import { loadGraph } from './support/graph-files.js';

/** The accuracy of the saved digit graph on the held-out images. */
export function reloadDigits(path: string): number {
  const { graph } = loadGraph(path);
  const { images, labels } = loadDigits().test;
  const [logits] = Object.values(graph.run({ [graph.inputNames[0]]: images }));
  return accuracyOf(logits, labels);
}

/** What the file of the name graph says beside the graph. */
interface NameNotes {
  readonly alphabet: readonly string[];
  /** Longer names are left out. */
  readonly longest: number;
}

/** The accuracy of the saved name graph on the names of unseen entities. */
export function reloadNames(path: string): number {
  const { graph, notes } = loadGraph<NameNotes>(path);
  const alphabet = new Map(notes.alphabet.map((character, i) => [character, i + 1]));
  const { test } = loadNames(notes.longest);
  const right = batchesOf(test, alphabet, 64).map(({ characters, lengths, languages }) => {
    const [first, second] = graph.inputNames;
    const [logits] = Object.values(graph.run({ [first]: characters, [second]: lengths }));
    return countRight(logits, languages);
  });
  return right.reduce((a, b) => a + b) / test.length;
}

if (process.argv.length === 5) {
  const [digits, names, device] = process.argv.slice(2);
  await startOn(device);
  console.log(JSON.stringify({ digits: reloadDigits(digits), names: reloadNames(names) }));
}
