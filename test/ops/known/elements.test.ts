import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../src/base/dim/index.js';
import { isFloat, kindOf } from '../../../src/base/dtype.js';
import { readElement } from '../../../src/base/element.js';
import { Program, type Value } from '../../../src/ir/program.js';
import * as ops from '../../../src/ops/index.js';
import { registry } from '../../../src/ops/registry.js';
import { knownElementsOf } from '../../../src/ops/known/elements.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import {
  bindSizes,
  generator,
  sampleCases,
  sampleOperands,
  sampleProgram,
} from '../../support/samples.js';

const n = symbol('n');
const m = symbol('m');

/** What is known of the elements of what `make` computes from an array of shape [n, 3, m], as text. */
function known(make: (x: Value, program: Program) => Value): readonly (string | null)[] {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [n, 3, m] });
  const found = knownElementsOf(program).of(make(x, program));
  return found.map((element: Dim | null) => (element === null ? null : String(element)));
}

const numbers = (program: Program, values: readonly number[]): Value =>
  program.constant({
    type: { dtype: 'int64', shape: [values.length] },
    data: BigInt64Array.from(values, BigInt),
  });

test('sizes stay what they are when they are selected, joined and reordered', () => {
  const shape = ops.shapeOf<Value>;
  assert.deepEqual(
    known((x) => shape(x)),
    ['n', '3', 'm'],
  );
  assert.deepEqual(
    known((x) => ops.slice(shape(x), [null, null, -2])),
    ['m', 'n'],
  );
  assert.deepEqual(
    known((x, p) => ops.concat([ops.slice(shape(x), [0, 2]), numbers(p, [4, -1])])),
    ['n', '3', '4', '-1'],
  );
  assert.deepEqual(
    known((x, p) => ops.take(shape(x), numbers(p, [-1, 0]))),
    ['m', 'n'],
  );
  const pair = (x: Value): Value => ops.stack([shape(x), ops.flip(shape(x), 0)], 1);
  assert.deepEqual(known(pair), ['n', 'm', '3', '3', 'm', 'n']);
  assert.deepEqual(
    known((x) => ops.concat([pair(x), pair(x)], 1)),
    ['n', 'm', 'n', 'm', '3', '3', '3', '3', 'm', 'n', 'm', 'n'],
  );
  assert.deepEqual(
    known((x) => ops.reshape(ops.transpose(pair(x)), [3, 2])),
    ['n', '3', 'm', 'm', '3', 'n'],
  );
});

test('arithmetic on sizes is arithmetic of dimensions', () => {
  const at = (x: Value, axis: number): Value => ops.slice(ops.shapeOf<Value>(x), axis);
  for (const [make, expected] of [
    [(a: Value, b: Value) => ops.add(ops.mul(a, 2), b), 'm + 2*n'],
    [(a: Value, b: Value) => ops.sub(ops.neg(a), b), '-m - n'],
    [(a: Value) => ops.floorDivide(a, 4), 'floorDiv(n, 4)'],
    [(a: Value) => ops.floorDivide(ops.sub(a, 3), 4), 'floorDiv(n - 3, 4)'],
    [(a: Value) => ops.mod(a, 4), 'mod(n, 4)'],
    [(a: Value, b: Value) => ops.maximum(a, b), 'max(m, n)'],
    [(a: Value) => ops.minimum(a, 7), 'min(7, n)'],
    [(a: Value) => ops.cast(ops.cast(a, 'int32'), 'int64'), 'n'],
    [(a: Value) => ops.where(ops.greaterEqual(a, 0), a, 5), 'n'],
    [(a: Value) => ops.where(ops.less(a, 0), a, 5), '5'],
    // Whether it is, the range of n leaves open.
    [(a: Value) => ops.where(ops.greater(a, 7), a, 5), null],
    // By something that may be 0 there is no floored quotient.
    [(a: Value, b: Value) => ops.floorDivide(a, b), null],
  ] as const) {
    assert.deepEqual(
      known((x) => make(at(x, 0), at(x, 2))),
      expected === null ? [] : [expected],
    );
  }
});

test('reductions of sizes', () => {
  const shape = (x: Value): Value => ops.shapeOf<Value>(x);
  assert.deepEqual(
    known((x) => ops.prod(shape(x))),
    ['3*m*n'],
  );
  assert.deepEqual(
    known((x) => ops.sum(shape(x), null, { keepdims: true })),
    ['m + n + 3'],
  );
});

test('what the elements of an array decide is not known', () => {
  assert.deepEqual(
    known((x) => ops.cast(ops.slice(ops.reshape(x, [-1]), [0, 2]), 'int64')),
    [],
  );
  assert.deepEqual(
    known((x) => ops.concat([ops.shapeOf(x), ops.reshape(ops.argmax(x), [1])])),
    ['n', '3', 'm', null],
  );
});

// Operators on integers whose operands are constants: what is known must be what they compute.
for (const sampleCase of sampleCases(registry.values())) {
  const { label, sample, declaration } = sampleCase;
  const isInteger = sample.args
    .flat()
    .every((arg) => typeof arg !== 'object' || arg === null || !('dtype' in arg) || !isFloat(arg.dtype as never)); // prettier-ignore
  if (!isInteger || declaration.family === 'random' || declaration.family === 'control') continue;
  test(`${label}: what is known of constants is what they are`, () => {
    const sizes = bindSizes(sample, () => 3);
    const program = sampleProgram(sampleCase, { sizes });
    const operands = sampleOperands(sample, sizes, generator(3));
    if (program.inputs.some(({ type }) => kindOf(type.dtype) === 'float')) return;
    const known = knownElementsOf(program);
    program.inputs.forEach((input, i) => {
      const { dtype, host } = operands[i].storage;
      known.learn(input, Array.from({ length: host.length }, (_, k) => Number(readElement(dtype, host, k)))); // prettier-ignore
    });
    const results = compile(program, { target: 'wasm' }).run(operands);
    program.outputs.forEach(({ value }, k) => {
      const { dtype, host } = results[k].storage;
      known.of(value).forEach((element, i) => {
        if (element !== null) assert.equal(element, Number(readElement(dtype, host, i)), `element ${i}`); // prettier-ignore
      });
    });
  });
}
