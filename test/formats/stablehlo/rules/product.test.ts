import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../../src/index.js';
import { exportModule } from '../../../../src/formats/stablehlo/export.js';
import { lowered } from '../../../../src/front/graphs/lowered.js';
import type { Value } from '../../../../src/ir/program.js';
import { matmul, reshape, swapaxes } from '../../../../src/ops/index.js';
import { toStableHlo } from '../../../../src/stablehlo.js';
import { programOf } from '../../../support/programs.js';

/** Operations of a program of rows of batch and time, and a weight. */
function operations(build: (x: Value, w: Value) => Value): readonly string[] {
  const program = programOf(
    { x: { dtype: 'float32', shape: [4, 5, 6] }, w: { dtype: 'float32', shape: [7, 6] } },
    ({ x, w }) => ({ y: build(x, swapaxes<Value>(w, 0, 1)) }),
  );
  const found = exportModule(lowered(program)).matchAll(/"stablehlo\.(\w+)".* : (.*)$/gm);
  return [...found].map(([, name, type]) => `${name}${type}`);
}

const product = '(tensor<5x4x6xf32>, tensor<7x6xf32>) -> tensor<5x4x7xf32>';

test('a weight is contracted as it lies, and rows that are exchanged are so before the product', () => {
  assert.deepEqual(
    operations((x, w) => matmul<Value>(swapaxes<Value>(x, 0, 1), w)),
    ['transpose(tensor<4x5x6xf32>) -> tensor<5x4x6xf32>', `dot_general${product}`],
  );
});

test('axes that rows merge are those of the product', () => {
  const merged = operations((x, w) => matmul<Value>(reshape<Value>(swapaxes<Value>(x, 0, 1), [20, 6]), w)); // prettier-ignore
  assert.deepEqual(merged.slice(-2), [
    `dot_general${product}`,
    'reshape(tensor<5x4x7xf32>) -> tensor<20x7xf32>',
  ]);
});

test('what a loop repeats is transposed before it, not in each iteration', () => {
  const weight = kn.random.normal([3, 3]);
  const matrix = kn.random.normal([3, 3]);
  const step = kn.hybridize(({ x }: { readonly x: kn.NDArray }) =>
    kn.foreach(
      (row, state) => {
        const [, inner] = kn.foreach(
          // On the right side contracted along its last axis, on the left along its first: neither as kernels want it.
          (_, s: kn.NDArray) => [s, matrix.transpose().matmul(s.matmul(weight.transpose())).tanh()],
          row,
          state,
        );
        return [inner, inner];
      },
      x,
      kn.zeros([3, 3]),
    ),
  );
  const feeds = { x: kn.random.normal([12, 12, 3]) };
  step(feeds);
  const { text } = toStableHlo(step.graphFor(feeds), { check: feeds });
  const [before, ...loops] = text.split('"stablehlo.while"');
  assert.equal(loops.length, 2);
  assert.equal(before.match(/stablehlo\.transpose/g)?.length, 2);
  assert.doesNotMatch(loops.join(''), /stablehlo\.transpose/);
  assert.match(
    text,
    /\(%\d+, %\d+\).*lhs_contracting_dimensions = \[1\], rhs_contracting_dimensions = \[0\]/,
  );
});
