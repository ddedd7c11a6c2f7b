import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadDigits } from '../../examples/digits/load.js';
import { DigitNet } from '../../examples/digits/model.js';
import { firstDigits, makeDigits, runDigits } from '../../examples/digits/run.js';
import { alphabetOf, batchesOf, languages, loadNames } from '../../examples/names/data.js';
import { NameReader } from '../../examples/names/model.js';
import { firstNames, makeNames, runNames } from '../../examples/names/run.js';
import { reloadDigits, reloadNames } from '../../examples/reload.js';
import { compareForms, forms } from '../../examples/support/forms.js';
import { saveGraph } from '../../examples/support/graph-files.js';
import { explanationLines, speedLine } from '../../examples/support/summary.js';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';

/** A network that gives one array. */
type Classifier = kn.nn.HybridBlock & { forward(...inputs: kn.NDArray[]): kn.NDArray };

/** Loss and gradients of one training call, then the output of a predicting one. */
function observe(
  net: Classifier,
  inputs: readonly kn.NDArray[],
  labels: kn.NDArray,
): Map<string, readonly number[]> {
  kn.random.seed(8); // equal dropout masks
  const loss = kn.autograd.record(() =>
    kn.nn.loss.softmaxCrossEntropy(net.call(...inputs), labels),
  );
  loss.backward();
  const seen = new Map([['loss', [Number(loss.item())]], ['output', numbers(net.call(...inputs))]]); // prettier-ignore
  for (const [name, { grad }] of net.parameters()) if (grad !== null) seen.set(name, numbers(grad));
  return seen;
}

const numbers = (array: kn.NDArray): number[] => [...array.dataSync()].map(Number);

/** Asserts that a network computes the same as written, captured, and (its output) from its saved graph. */
function checkCaptured(
  make: () => Classifier,
  inputs: readonly kn.NDArray[],
  labels: kn.NDArray,
): void {
  const build = (): ReturnType<typeof make> => {
    kn.random.seed(3);
    const net = make().initialize();
    net.call(...inputs);
    return net;
  };
  const eager = observe(build(), inputs, labels);
  const net = build().hybridize();
  const captured = observe(net, inputs, labels);
  assert.deepEqual([...captured.keys()], [...eager.keys()]);
  for (const [name, values] of eager) assertClose(captured.get(name)!, values, 2e-4, name);
  const graph = kn.StaticGraph.fromJSON(
    JSON.parse(JSON.stringify(net.graphFor(...inputs).toJSON())),
  );
  const feeds = Object.fromEntries(inputs.map((input, i) => [graph.inputNames[i], input]));
  const [output] = Object.values(graph.run(feeds));
  assertClose(numbers(output), captured.get('output')!, 1e-6, 'reloaded');
}

test('the digit network is the same as written, captured and reloaded, gradients included', () => {
  const { images, labels } = loadDigits().train;
  checkCaptured(() => new DigitNet(), [images.slice([0, 16])], labels.slice([0, 16]));
});

test('the reader of names is the same as written, captured and reloaded, gradients included', () => {
  const { train } = loadNames();
  const alphabet = alphabetOf(train);
  const [{ characters, lengths, languages: labels }] = batchesOf(train, alphabet, 8);
  checkCaptured(() => new NameReader(alphabet.size + 1, 12), [characters, lengths], labels);
});

test('no name of an entity that is tested is trained on, and every language is there', () => {
  const { train, test: heldOut } = loadNames();
  assert.ok(train.length > 4000 && heldOut.length > 1000);
  for (const set of [train, heldOut]) {
    assert.deepEqual(new Set(set.map(({ language }) => language)).size, languages.length);
  }
});

test('a short run of the digits learns in one program, and its file repeats the accuracy', () => {
  const result = runDigits({ epochs: 4 });
  assert.ok(result.accuracy > 0.85, `accuracy ${result.accuracy}`);
  const { traces, misses, hits } = result.explanation;
  assert.deepEqual([traces.length, misses.length, hits], [1, 1, 4 * 22 - 1]);
  assert.match(String(result.explanation), /^step: 1 trace, 87 hits, 1 miss$/m);
  const path = join(mkdtempSync(join(tmpdir(), 'kaon-test-')), 'digits.json');
  saveGraph(path, result.graph);
  assert.equal(reloadDigits(path), result.accuracy);
});

test('a short run of the names beats chance in one program for all lengths, and its file repeats the accuracy', () => {
  const result = runNames({ epochs: 8, longest: 8 });
  assert.ok(result.accuracy > 2.5 / languages.length, `accuracy ${result.accuracy}`);
  assert.ok(result.baseline > 0.3, `baseline ${result.baseline}`);
  const { traces, misses } = result.explanation;
  assert.deepEqual([traces.length, misses.length], [1, 1]);
  assert.deepEqual(traces[0].symbols, ['batch', 'time']);
  const path = join(mkdtempSync(join(tmpdir(), 'kaon-test-')), 'names.json');
  const { alphabet, longest } = result;
  saveGraph(path, result.graph, { alphabet, longest });
  assert.equal(reloadNames(path), result.accuracy);
});

test('names of mixed lengths are padded to the longest of their batch', () => {
  const names = ['Ὕ', 'abba', 'ba'].map((text) => ({ text, language: 1 }));
  const [first, second] = batchesOf(names, new Map([['a', 1], ['b', 2]]), 2); // prettier-ignore
  assert.deepEqual(first.characters.tolist(), [[0, 0, 0, 0], [1, 2, 2, 1]]); // prettier-ignore
  assert.deepEqual(first.lengths.tolist(), [1, 4]);
  assert.deepEqual(second.characters.tolist(), [[2, 1]]);
});

test('the training steps are the same in every form', () => {
  const { alphabet, batch } = firstNames(16);
  for (const speeds of [
    compareForms(makeDigits, firstDigits(16), 1),
    compareForms(() => makeNames(alphabet), batch, 1),
  ]) {
    // The comparison throws where losses differ.
    assert.deepEqual(Object.keys(speeds), [...forms]);
    assert.equal(speedLine(speeds).split(', ').length, forms.length);
  }
});

test('a long explanation is shown in part', () => {
  const f = kn.hybridize((x: kn.NDArray, by: number) => x.mul(by), { name: 'scale' });
  for (let by = 0; by < 9; by++) f(kn.ones([1]), by);
  const lines = explanationLines(f.explain(), 4);
  assert.equal(lines[0], '    scale: 9 traces, 0 hits, 9 misses');
  assert.equal(lines.filter((line) => line === '    ... and 5 more').length, 2);
  assert.ok(lines.every((line) => !line.includes(process.cwd())));
});
