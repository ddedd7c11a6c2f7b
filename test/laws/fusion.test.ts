import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DType, isFloat } from '../../src/base/dtype.js';
import { supportsRelaxed } from '../../src/codegen/wasm/index.js';
import { Program, type Value } from '../../src/ir/program.js';
import type { Declaration, SampleArray } from '../../src/ops/declare/declare.js';
import { abs, matmul, sum } from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { CompileOptions, Operand } from '../../src/runtime/execution/executable.js';
import { randomOperand } from '../support/arrays.js';
import { generator } from '../support/samples.js';
import { differenceOf, type Margin, valuesOf } from './margins.js';

/**
 * Whatever is computed element by element may stand before and behind anything that is not: fused, it
 * gives the bits that it gives alone. Sizes are such that vectors, single columns and rests all occur.
 */

const floats: readonly DType[] = ['float32', 'float64', 'float16', 'bfloat16'];
const random = generator(11);

/** Operators of one float operand and nothing else, computed element by element. */
const pointwise = [...registry.values()].filter(({ attributes, lowering, samples }) => {
  const [array, ...others] = (samples[0]?.args ?? []) as readonly Partial<SampleArray>[];
  return (
    lowering.kind === 'point' &&
    lowering.elementwise &&
    others.length === 0 &&
    array?.kind === 'array' &&
    isFloat(array.dtype!) &&
    Object.keys(attributes).length === 0
  );
});

type Place = (x: Value, w: Value, apply: (value: Value) => Value) => Value;
const places: Readonly<Record<string, Place>> = {
  'behind a product': (x, w, apply) => apply(matmul(x, w)),
  'before a product': (x, w, apply) => matmul(apply(x), w),
  'behind a fold': (x, _, apply) => apply(sum(x, 0)),
  // Along rows the number of lanes, and so the order of summation, follows the widest scalar.
  'before a fold along columns': (x, _, apply) => sum(apply(x), 0),
  'between a product and a fold': (x, w, apply) => sum(apply(matmul(x, w)), 0),
};

type Apply = (declaration: Declaration, value: Value) => Value;
const plainly: Apply = (declaration, value) => value.program.append(declaration, [value])[0];

function run(
  declaration: Declaration,
  place: Place,
  operands: readonly Operand[],
  options: Pick<CompileOptions, 'fuse' | 'relaxed'>,
  apply: Apply = plainly,
): Operand {
  const program = new Program();
  const [x, w] = operands.map(({ storage, shape }, i) =>
    program.variable(`x${i}`, { dtype: storage.dtype, shape }),
  );
  const value = place(x, w, (operand) => apply(declaration, operand));
  program.setOutputs([{ name: 'y', value }]);
  return compile(program, options).run(operands)[0];
}

/**
 * Where products are added in one instruction, one that is folded at once is rounded once: each of the terms
 * may be off by as many roundings as there are terms, and one more.
 */
function marginFor(declaration: Declaration, place: Place, operands: readonly Operand[]): Margin {
  const [{ storage, shape }] = operands;
  const rounding = { float32: 2 ** -24, float64: 2 ** -53 }[storage.dtype as 'float32'] ?? 0;
  const magnitude: Apply = (one, value) => abs(plainly(one, value));
  const sums = run(declaration, place, operands, { fuse: false, relaxed: false }, magnitude);
  return valuesOf(sums).map((value) => 2 * (shape[0] + 1) * rounding * value);
}

test('there are operators to speak of', () => {
  assert.ok(pointwise.length > 30, String(pointwise.length));
});

const foldsAtOnce: ReadonlySet<string> = new Set([
  'before a fold along columns',
  'between a product and a fold',
]);

for (const [name, place] of Object.entries(places)) {
  test(`operators ${name} give the bits that they give alone`, () => {
    for (const dtype of floats) {
      const operands = [randomOperand(random, [5, 6], dtype), randomOperand(random, [6, 7], dtype)];
      for (const declaration of pointwise) {
        for (const relaxed of supportsRelaxed() ? [false, true] : [false]) {
          const [alone, fused] = [false, true].map((fuse) => run(declaration, place, operands, { fuse, relaxed })); // prettier-ignore
          const margin = relaxed && foldsAtOnce.has(name) ? marginFor(declaration, place, operands) : null; // prettier-ignore
          const what = `${declaration.name} of ${dtype}${relaxed ? ', relaxed' : ''}`;
          assert.equal(differenceOf(fused, alone, margin), null, what);
        }
      }
    }
  });
}
