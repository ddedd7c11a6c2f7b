import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { end as endOfAnswer, tokens } from '../../examples/attention/data.js';
import { generate } from '../../examples/attention/generate.js';
import { Transformer } from '../../examples/attention/model.js';
import { searchBeam } from '../../examples/decoding/beam.js';
import { end } from '../../examples/decoding/data.js';
import { Speller } from '../../examples/decoding/model.js';
import { batchTrees, treeAxes } from '../../examples/listops/batch.js';
import { TreeReader } from '../../examples/listops/model.js';
import { drawExpressions } from '../../examples/listops/run.js';
import type * as beamModule from '../../examples/plain/beam.js';
import type * as generateModule from '../../examples/plain/generate.js';
import type * as treesModule from '../../examples/plain/trees.js';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';
import { importConverted } from '../support/converted.js';

/* Examples in plain control flow compute what the same examples with `whileLoop` and `foreach` compute. */

let plainBeam: typeof beamModule;
let plainGenerate: typeof generateModule;
let plainTrees: typeof treesModule;
before(async () => {
  const at = (name: string): URL => new URL(`../../examples/plain/${name}.js`, import.meta.url);
  plainBeam = (await importConverted(at('beam'))) as typeof beamModule;
  plainGenerate = (await importConverted(at('generate'))) as typeof generateModule;
  plainTrees = (await importConverted(at('trees'))) as typeof treesModule;
});

const ints = (values: number | readonly number[]): kn.NDArray =>
  kn.array(values, { dtype: 'int32' });

function drawWeights(block: kn.nn.Block, seed: number, scale = 1): void {
  kn.random.seed(seed);
  for (const parameter of block.parameters().values()) {
    parameter.assign(kn.random.normal(parameter.value.shape).mul(scale));
  }
}

/** Rows of numbers without what lies behind their first end. */
const trimmed = (rows: kn.NDArray, last: number): number[][] =>
  (rows.tolist() as number[][]).map((row) => {
    const at = row.indexOf(last);
    return at < 0 ? row : row.slice(0, at + 1);
  });

test('beam search', () => {
  const speller = new Speller({ alphabet: 3, languages: 4, size: 5 }).initialize();
  drawWeights(speller, 3);
  for (const options of [
    { width: 4, longest: 6, lengthPenalty: 1 },
    { width: 2, longest: 1 },
    { width: 31, longest: 5 },
  ]) {
    const net = new plainBeam.PlainBeamSpeller(speller, options).hybridize();
    for (const language of [0, 3]) {
      const expected = searchBeam(speller, ints(language), options);
      for (const found of [
        plainBeam.searchBeamPlainly(speller, ints(language), options),
        net.call(ints(language)),
      ]) {
        assert.deepEqual(trimmed(found.characters, end), trimmed(expected.characters, end));
        assertClose(found.scores.dataSync(), expected.scores.dataSync());
      }
    }
  }
});

test('generation by a transformer', () => {
  const model = new Transformer({ size: 8, heads: 2, layers: 2, capacity: 8 }).initialize();
  model.call(kn.zeros([1, 1], { dtype: 'int32' }));
  drawWeights(model, 2, 1.5);
  const prompts = [[3, 1, 4], [1, 5], [9], [2, 6, 5, 3, 5]] as const;
  const given = tokens(prompts, model.capacity);
  const lengths = ints(prompts.map(({ length }) => length));
  const expected = generate(model, given, lengths);
  const net = new plainGenerate.PlainGenerator(model).hybridize();
  for (const written of [
    plainGenerate.generatePlainly(model, given, lengths),
    net.call(given, lengths),
  ]) {
    const wanted = trimmed(expected, endOfAnswer);
    assert.deepEqual(trimmed(written, endOfAnswer).map((row, i) => row.slice(0, wanted[i].length)), wanted); // prettier-ignore
  }
});

/** The number of calls of an operator in a graph, those in bodies included. */
const calls = (graph: kn.StaticGraph, operator: string): number =>
  String(graph).split(` = ${operator}(`).length - 1;

test('the body of a loop that a break leaves is in the graph once', () => {
  const speller = new Speller({ alphabet: 3, languages: 4, size: 5 }).initialize();
  speller.beginState(ints(0));
  const options = { width: 4, longest: 6 };
  const [beam, plain] = [searchBeam, plainBeam.searchBeamPlainly].map((search) =>
    kn.hybridize((language: kn.NDArray) => search(speller, language, options)).graphFor(ints(0)),
  );
  for (const operator of ['topK', 'matmul']) assert.equal(calls(plain, operator), calls(beam, operator)); // prettier-ignore

  const model = new Transformer({ size: 8, heads: 2, layers: 2, capacity: 8 }).initialize();
  model.call(kn.zeros([1, 1], { dtype: 'int32' }));
  const prompts = tokens([[3, 1, 4], [1]], model.capacity);
  const graphs = [generate, plainGenerate.generatePlainly].map(
    (answer) =>
    kn.hybridize((x: kn.NDArray, lengths: kn.NDArray) => answer(model, x, lengths)).graphFor(prompts, ints([3, 1])), // prettier-ignore
  );
  for (const operator of ['argmax', 'attention', 'matmul']) assert.equal(calls(graphs[1], operator), calls(graphs[0], operator)); // prettier-ignore
  assert.ok(calls(graphs[0], 'argmax') === 1 && calls(beam, 'topK') === 2);
});

test('trees, with the gradients of their parameters', () => {
  const expressions = drawExpressions(4, { depth: 3, longest: 3 });
  const batch = batchTrees(expressions);
  const results = [TreeReader, plainTrees.PlainTreeReader].flatMap((Reader) =>
    [false, true].map((isCaptured) => {
      kn.random.seed(5);
      const net = new Reader(6).initialize();
      net.call(batch);
      drawWeights(net, 7);
      if (isCaptured) net.hybridize({ dynamic: [treeAxes] });
      const logits = kn.autograd.record(() => net.call(batch));
      kn.autograd.record(() => net.call(batch).square().sum()).backward();
      const gradients = [...net.parameters().values()].map(({ grad }) => [...grad!.dataSync()]);
      return { logits: [...logits.dataSync()], gradients };
    }),
  );
  for (const { logits, gradients } of results.slice(1)) {
    assertClose(logits, results[0].logits, 1e-4);
    gradients.forEach((each, i) => assertClose(each, results[0].gradients[i], 1e-3));
  }
});
