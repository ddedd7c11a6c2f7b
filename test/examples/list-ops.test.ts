import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchTrees, treeAxes, type TreeBatch } from '../../examples/listops/batch.js';
import {
  drawExpression,
  type Expression,
  symbols,
  symbolsOf,
  textOf,
} from '../../examples/listops/data.js';
import { TreeReader } from '../../examples/listops/model.js';
import { compareForms, forms } from '../../examples/support/forms.js';
import { drawExpressions, makeListops, runListops } from '../../examples/listops/run.js';
import { seeded } from '../../examples/support/random.js';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';

/** What a text stands for, worked out from the text alone. */
function valueOf(words: string[]): number {
  const word = words.shift()!;
  if (!word.startsWith('[')) return Number(word);
  const values: number[] = [];
  while (words[0] !== ']') values.push(valueOf(words));
  words.shift();
  values.sort((a, b) => a - b);
  const middle = values.length / 2;
  const byName: Record<string, number> = {
    '[MIN': values[0],
    '[MAX': values[values.length - 1],
    '[MED': Math.trunc((values[Math.ceil(middle) - 1] + values[Math.floor(middle)]) / 2),
    '[SM': values.reduce((a, b) => a + b, 0) % 10,
  };
  return byName[word];
}

test('expressions are worth what their texts say, within the rules', () => {
  const draw = seeded(1);
  const seen = new Set<number>();
  for (let i = 0; i < 300; i++) {
    const { tree, value } = drawExpression(draw, { depth: 3, longest: 4 });
    const text = textOf(tree);
    assert.equal(value, valueOf(text.split(' ')), text);
    let depth = 0;
    const opened: number[] = [];
    for (const symbol of symbolsOf(tree)) {
      if (symbols[symbol] === ']') {
        const count = opened.pop()!;
        assert.ok(count >= 2 && count <= 4, text);
      } else {
        if (opened.length > 0) opened[opened.length - 1]++;
        if (symbol >= 10) opened.push(0);
      }
      depth = Math.max(depth, opened.length);
      seen.add(symbol);
    }
    assert.ok(depth >= 1 && depth <= 3, text);
  }
  assert.equal(seen.size, symbols.length);
});

const few = (count: number, seed = 2): Expression[] => {
  const draw = seeded(seed);
  return Array.from({ length: count }, () => drawExpression(draw, { depth: 3, longest: 3 }));
};

/** A reader with weights that make a difference. */
function smallReader(): TreeReader {
  kn.random.seed(3);
  const net = new TreeReader(4).initialize();
  net.call(batchTrees(few(2)));
  for (const parameter of net.parameters().values()) {
    parameter.assign(kn.random.normal(parameter.value.shape));
  }
  return net;
}

/** Logits and the gradients of all parameters. */
function observe(net: TreeReader, logitsOf: () => kn.NDArray, values: kn.NDArray): number[][] {
  for (const parameter of net.parameters().values()) parameter.zeroGrad();
  const [logits, loss] = kn.autograd.record(() => {
    const given = logitsOf();
    return [given, kn.nn.loss.softmaxCrossEntropy(given, values)];
  });
  loss.backward();
  const grads = [...net.parameters().values()].map(({ grad }) => grad!);
  return [logits, ...grads].map((array) => [...array.dataSync()].map(Number));
}

function checkEqual(actual: number[][], expected: number[][], what: string): void {
  assert.equal(actual.length, expected.length);
  expected.forEach((values, i) => assertClose(actual[i], values, 1e-4, `${what} ${i}`));
}

/** All trees one after the other, each node by plain recursion. */
function nodeByNode(net: TreeReader, expressions: readonly Expression[]): kn.NDArray {
  return net.classify.call(kn.concat(expressions.map(({ tree }) => net.readTree(tree).h)));
}

test('trees of all shapes are read side by side as each of them node by node, gradients included', () => {
  const net = smallReader();
  const expressions = few(5);
  const batch = batchTrees(expressions);
  assert.ok(new Set(expressions.map(({ tree }) => symbolsOf(tree).length)).size > 2);
  const expected = observe(net, () => nodeByNode(net, expressions), batch.values);
  checkEqual(
    observe(net, () => net.call(batch), batch.values),
    expected,
    'eager',
  );
  net.hybridize({ dynamic: [treeAxes] });
  checkEqual(
    observe(net, () => net.call(batch), batch.values),
    expected,
    'captured',
  );
});

test('one graph reads every batch, and its file does', () => {
  const net = smallReader();
  const first = batchTrees(few(3));
  const graph = kn.StaticGraph.fromJSON(
    JSON.parse(
      JSON.stringify(
        net
          .hybridize({ dynamic: [treeAxes] })
          .graphFor(first)
          .toJSON(),
      ),
    ),
  );
  const digits = [7, 0].map((value): Expression => ({ tree: value, value }));
  for (const expressions of [few(3), few(1, 5), [...digits, ...few(4, 7)], few(2, 11), digits]) {
    const batch: TreeBatch = batchTrees(expressions);
    const expected = nodeByNode(net, expressions);
    const [logits] = Object.values(graph.run({ ...batch }));
    assert.deepEqual(logits.shape, [expressions.length, 10]);
    assertClose(logits.dataSync(), expected.dataSync(), 1e-4);
    assertClose(net.call(batch).dataSync(), expected.dataSync(), 1e-4);
  }
});

test('no expression that is tested is trained on', () => {
  const texts = drawExpressions(500, { depth: 2, longest: 3 }).map(({ tree }) => textOf(tree));
  assert.equal(new Set(texts).size, 500);
});

test('a reader of trees learns in one program what counting symbols cannot tell', () => {
  const { accuracy, majority, bagOfSymbols, explanation } = runListops({
    expressions: 2000,
    epochs: 4,
    batchSize: 16,
    longest: 2,
    size: 24,
  });
  assert.equal(explanation.traces.length, 1);
  assert.ok(majority < 0.3 && bagOfSymbols > majority, `${majority}, ${bagOfSymbols}`);
  assert.ok(accuracy > bagOfSymbols + 0.12, `${accuracy}, and ${bagOfSymbols} by counting symbols`);
});

test('a training step is the same in every form', () => {
  const batch = batchTrees(few(4));
  // The comparison throws where losses differ.
  assert.deepEqual(Object.keys(compareForms(() => makeListops(6, batch), batch, 1)), [...forms]);
});
