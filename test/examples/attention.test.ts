import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  capacityFor,
  type Digits,
  end,
  equals,
  solved,
  taskBatch,
  tokens,
} from '../../examples/attention/data.js';
import { generate, Generator } from '../../examples/attention/generate.js';
import { Transformer } from '../../examples/attention/model.js';
import { compareForms, forms } from '../../examples/support/forms.js';
import { answersOf, makeTransformer, runAttention } from '../../examples/attention/run.js';
import * as kn from '../../src/index.js';
import { assertClose } from '../support/close.js';

const ints = (values: number | readonly number[]): kn.NDArray =>
  kn.array(values, { dtype: 'int32' });

/** A transformer whose weights are so large that it writes all kinds of things. */
function smallTransformer(seed: number): Transformer {
  const model = new Transformer({ size: 8, heads: 2, layers: 2, capacity: 8 }).initialize();
  model.call(kn.zeros([1, 1], { dtype: 'int32' }));
  kn.random.seed(seed);
  for (const parameter of model.parameters().values()) {
    parameter.assign(kn.random.normal(parameter.value.shape).mul(1.5));
  }
  return model;
}

const prompts: readonly Digits[] = [[3, 1, 4], [1, 5], [9], [2, 6, 5, 3, 5]];

function prompted(
  model: Transformer,
  some: readonly Digits[],
): { given: kn.NDArray; lengths: kn.NDArray } {
  return { given: tokens(some, model.capacity), lengths: ints(some.map(({ length }) => length)) };
}

test('with the cache, each step gives what reading the whole prefix gives', () => {
  const model = smallTransformer(1);
  const sequences = tokens(
    [
      [3, 1, 4, equals, 4, 1, 3, end],
      [2, 7, 1, 8, 2, 8, 1, 8],
    ],
    8,
  );
  const whole = model.call(sequences);
  let caches = model.emptyCaches(sequences.slice(':', 0));
  for (let position = 0; position < 8; position++) {
    const [logits, next] = model.step(sequences.slice(':', position), ints(position), caches);
    caches = next;
    assertClose(logits.dataSync(), whole.slice(':', position).dataSync(), 1e-4);
    if (position % 3 !== 0) continue;
    const prefix = model.call(sequences.slice(':', [0, position + 1]));
    assertClose(logits.dataSync(), prefix.slice(':', -1).dataSync(), 1e-4);
  }
});

/** One sequence, written by reading all of it again for each token. */
function writtenSlowly(model: Transformer, prompt: Digits): number[] {
  const sequence = [...prompt];
  while (sequence.length < model.capacity) {
    const logits = model.call(tokens([sequence], sequence.length)).slice(0, -1);
    sequence.push(Number(logits.argmax().item()));
    if (sequence.at(-1) === end) break;
  }
  return sequence;
}

/** Rows of what was written, behind the first token, up to the end or the limit. */
function rowsOf(written: kn.NDArray, some: readonly Digits[]): number[][] {
  return (written.tolist() as number[][]).map((row, i) => {
    const at = row.indexOf(end, some[i].length - 1);
    return [some[i][0], ...row.slice(0, at < 0 ? undefined : at + 1)];
  });
}

test('sequences of different lengths are continued side by side as each of them alone', () => {
  const lengths = new Set<number>();
  for (const seed of [1, 2, 3]) {
    const model = smallTransformer(seed);
    const { given, lengths: known } = prompted(model, prompts);
    const written = rowsOf(generate(model, given, known), prompts);
    assert.deepEqual(written, prompts.map((prompt) => writtenSlowly(model, prompt))); // prettier-ignore
    for (const row of written) lengths.add(row.length);
  }
  assert.ok(lengths.size > 2, 'all of them end at the same place');
});

test('generation is the same as written, captured and reloaded', () => {
  const model = smallTransformer(2);
  const net = new Generator(model).hybridize();
  const { given, lengths } = prompted(model, prompts);
  const graph = kn.StaticGraph.fromJSON(
    JSON.parse(JSON.stringify(net.graphFor(given, lengths).toJSON())),
  );
  const [givenName, lengthsName] = graph.inputNames;
  for (const some of [prompts, prompts.toReversed(), prompts.map((prompt) => prompt.slice(0, 1))]) {
    const again = prompted(model, some);
    const expected = generate(model, again.given, again.lengths).tolist();
    assert.deepEqual(net.call(again.given, again.lengths).tolist(), expected);
    const results = graph.run({ [givenName]: again.given, [lengthsName]: again.lengths });
    assert.deepEqual(results[graph.outputNames[0]].tolist(), expected);
  }
});

test('a transformer learns in one program to reverse digits, and stops where the answer ends', () => {
  const { model, accuracy, explanation } = runAttention({ steps: 100, longest: 3 });
  assert.ok(accuracy >= 0.9, `accuracy ${accuracy}`);
  assert.equal(explanation.traces.length, 1);
  assert.equal(model.capacity, capacityFor(3));
  const tasks = [[7], [0, 1], [5, 6, 7]];
  assert.deepEqual(answersOf(model, tasks), tasks.map(solved)); // prettier-ignore
});

test('a training step is the same in every form', () => {
  const batch = taskBatch([[1, 2, 3], [4], [5, 6]], capacityFor(3));
  // The comparison throws where losses differ.
  assert.deepEqual(Object.keys(compareForms(() => makeTransformer(8, 3), batch, 1)), [...forms]);
});
