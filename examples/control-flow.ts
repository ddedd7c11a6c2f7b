// `node dist/examples/controlflow.js`: three models whose control flow depends on the data, each of them one
// compiled program: trees of any shape, decoding until the end comes, attention with a cache.
import { answersOf, runAttention } from './attention/run.js';
import { tokenNames } from './attention/data.js';
import { BeamSpeller } from './decoding/beam.js';
import { runDecoding } from './decoding/run.js';
import { runListops } from './listops/run.js';
import { languages } from './names/data.js';
import { percent } from './support/progress.js';
import * as kn from '../src/index.js';
import { rowsOf } from './support/lists.js';

console.log('ListOps: what is [MAX 2 9 [MIN 4 7 ] 0 ]? A Tree-LSTM over trees of all shapes');
const listops = runListops();
console.log(
  `  accuracy on unseen expressions: ${percent(listops.accuracy)}; counting symbols: ` +
    `${percent(listops.bagOfSymbols)}; the most frequent digit: ${percent(listops.majority)}\n`,
);

console.log('Spelling names: a character model, and beam search until all names have ended');
const { speller, characters, logProbability, baseline } = runDecoding();
console.log(
  `  mean log probability of a character: ${logProbability.toFixed(2)}; by frequency: ${baseline.toFixed(2)}`,
);
const search = new BeamSpeller(speller, { width: 8, longest: 14, lengthPenalty: 1 }).hybridize();
languages.forEach((name, language) => {
  const found = search.call(kn.array(language, { dtype: 'int32' }));
  const [best] = rowsOf(found.characters);
  console.log(`  ${name}: ${best.map((character) => characters[character]).join('')}`);
});

console.log('\nReversing digits: a transformer that generates with a cache of keys and values');
const { model, accuracy } = runAttention();
console.log(`  right from the first digit to the last: ${percent(accuracy)}`);
for (const answer of answersOf(model, [
  [3, 1, 4],
  [2, 7, 1, 8, 2],
])) {
  console.log(`  ${answer.map((token) => tokenNames[token]).join(' ')}`);
}
