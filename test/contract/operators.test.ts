import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../src/index.js';
import { near } from '../front/support.js';
import { inEveryForm, inEveryFormWithGradients } from './forms.js';
import { refused, refusedInEveryForm } from './refusals.js';

/* The small print of the public contract under "Operators", "Axes" and "Errors", line by line. */

const some = [-1.5, -0.5, 0.25, 0.75];

/** The error function by its series, which converges fast for small arguments. */
function erf(x: number): number {
  let [term, sum] = [x, x];
  for (let n = 1; n < 40; n++) sum += (term *= -(x * x) / n) / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * sum;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

const unary: Readonly<Record<string, (x: number) => number>> = {
  neg: (x) => -x, abs: Math.abs, sign: Math.sign, exp: Math.exp, expm1: Math.expm1, log1p: Math.log1p,
  square: (x) => x * x, sin: Math.sin, cos: Math.cos, tan: Math.tan, asin: Math.asin, acos: Math.acos,
  atan: Math.atan, sinh: Math.sinh, cosh: Math.cosh, tanh: Math.tanh, asinh: Math.asinh, atanh: Math.atanh,
  erf, sigmoid, relu: (x) => Math.max(0, x), gelu: (x) => (x / 2) * (1 + erf(x / Math.SQRT2)),
  silu: (x) => x * sigmoid(x), softplus: (x) => Math.log1p(Math.exp(x)), floor: Math.floor, ceil: Math.ceil,
  trunc: Math.trunc, log: Math.log, log2: Math.log2, sqrt: Math.sqrt, rsqrt: (x) => 1 / Math.sqrt(x), acosh: Math.acosh,
}; // prettier-ignore

const operators = kn as unknown as Readonly<
  Record<string, (...arrays: kn.NDArray[]) => kn.NDArray>
>;

for (const [name, plain] of Object.entries(unary)) {
  test(`One spelling each: ${name}`, () => {
    const points = [...some, 1.25, 2.5];
    const x = kn.array(points, { dtype: 'float64' });
    near(operators[name](x).tolist(), points.map(plain), 1e-7);
    const method = (x as unknown as Record<string, () => kn.NDArray>)[name];
    assert.deepEqual(method.call(x).tolist(), operators[name](x).tolist());
  });
}

inEveryFormWithGradients('One spelling each: `add sub mul div pow mod atan2 maximum minimum clip round`', {
  inputs: () => ({ x: kn.array([-3.5, 1, 2.5, 4]), y: kn.array([2, 2, 3, -3]) }),
  code: ({ x, y }) => [
    x.add(y), x.sub(y), x.mul(y), x.div(y), y.pow(2), x.mod(y), kn.atan2(x, y), kn.maximum(x, y),
    kn.minimum(x, y), kn.clip(x, -1, 2), kn.round(x),
  ],
  gives: [
    [-1.5, 3, 5.5, 1], [-5.5, -1, -0.5, 7], [-7, 2, 7.5, -12], [-1.75, 0.5, 2.5 / 3, -4 / 3], [4, 4, 9, 9],
    [0.5, 1, 2.5, -2], [[-3.5, 2], [1, 2], [2.5, 3], [4, -3]].map(([a, b]) => Math.atan2(a, b)), [2, 2, 3, 4],
    [-3.5, 1, 2.5, -3], [-1, 1, 2, 2], [-4, 1, 2, 4],
  ],
}); // prettier-ignore

inEveryFormWithGradients('`concat stack split tile repeat flip roll pad tril triu`; positional like NumPy\'s', {
  inputs: () => ({ x: kn.array([[1, 2], [3, 4]]), y: kn.array([[5, 6], [7, 8]]) }),
  code: ({ x, y }) => ({
    concat: [kn.concat([x, y]), kn.concat([x, y], 1)],
    stack: [kn.stack([x, y]).shape.length, kn.stack([x, y], 2)],
    split: [kn.split(kn.concat([x, y]), 2), kn.split(x, [1], 1)],
    tile: kn.tile(x, [1, 2]),
    repeat: kn.repeat(x, 2, 0),
    flip: kn.flip(x, 1),
    roll: kn.roll(x, 1, 0),
    pad: kn.pad(x, [[1, 0], [0, 1]], { mode: 'constant', value: 9 }),
    triangles: [kn.tril(x), kn.triu(x), kn.tril(x, -1), kn.triu(x, 1)],
    transpose: [x.transpose(), kn.transpose(kn.stack([x, y]), [2, 0, 1])],
  }),
  gives: {
    concat: [[[1, 2], [3, 4], [5, 6], [7, 8]], [[1, 2, 5, 6], [3, 4, 7, 8]]],
    stack: [3, [[[1, 5], [2, 6]], [[3, 7], [4, 8]]]],
    split: [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]], [[[1], [3]], [[2], [4]]]],
    tile: [[1, 2, 1, 2], [3, 4, 3, 4]],
    repeat: [[1, 2], [1, 2], [3, 4], [3, 4]],
    flip: [[2, 1], [4, 3]],
    roll: [[3, 4], [1, 2]],
    pad: [[9, 9, 9], [1, 2, 9], [3, 4, 9]],
    triangles: [[[1, 0], [3, 4]], [[1, 2], [0, 4]], [[0, 0], [3, 0]], [[0, 2], [0, 0]]],
    transpose: [[[1, 3], [2, 4]], [[[1, 3], [5, 7]], [[2, 4], [6, 8]]]],
  },
}); // prettier-ignore

test('`take(x, indices, { axis, mode })` (indices may be host lists)', () => {
  const x = kn.array([10, 20, 30]);
  assert.deepEqual(kn.take(x, [2, 0], { axis: 0 }).tolist(), [30, 10]);
  assert.deepEqual(kn.take(x, [-1, 4], { axis: 0, mode: 'wrap' }).tolist(), [30, 20]);
  assert.deepEqual(kn.take(x, [-5, 7], { axis: 0, mode: 'clip' }).tolist(), [10, 30]);
  assert.deepEqual(x.take(kn.array([[1]], { dtype: 'int64' })).tolist(), [[20]]);
});

test('The default dtype is float32 everywhere, `arange` included', () => {
  const made = [
    kn.array([1]), kn.zeros([1]), kn.ones([1]), kn.full([1], 2), kn.arange(3), kn.arange(0, 4, 2), kn.linspace(0, 1, 2),
    kn.eye(1), kn.random.normal([1]), kn.random.uniform([1]),
  ]; // prettier-ignore
  assert.deepEqual(new Set(made.map(({ dtype }) => dtype)), new Set(['float32']));
});

test("promotion is PyTorch's table", () => {
  const order = ['uint8', 'int8', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'];
  const torch = (a: kn.DType, b: kn.DType): kn.DType => {
    if (a === b || b === 'bool') return a;
    if (a === 'bool') return b;
    const pair = [a, b].sort((p, q) => order.indexOf(p) - order.indexOf(q)) as [kn.DType, kn.DType];
    if (pair.join() === 'uint8,int8') return 'int16' as kn.DType;
    if (pair.join() === 'float16,bfloat16') return 'float32';
    return pair[1];
  };
  for (const a of kn.dtypes) {
    for (const b of kn.dtypes) {
      const [x, y] = [kn.ones([2], { dtype: a }), kn.ones([2], { dtype: b })];
      const expected = torch(a, b);
      // There is no int16: the next wider integer holds what both hold.
      assert.equal(kn.maximum(x, y).dtype, (expected as string) === 'int16' ? 'int32' : expected, `${a}, ${b}`); // prettier-ignore
    }
  }
});

test('`tolist()` gives bigint for int64', () => {
  assert.deepEqual(kn.array([1, -2], { dtype: 'int64' }).tolist(), [1n, -2n]);
  assert.equal(kn.array(5, { dtype: 'int64' }).item(), 5n);
});

inEveryForm("integer `div` is true division, `floorDivide` and `mod` take the divisor's sign", {
  inputs: () => ({
    x: kn.array([7, -7, 7, -7], { dtype: 'int32' }),
    y: kn.array([2, 2, -2, -2], { dtype: 'int32' }),
  }),
  code: ({ x, y }) => [x.div(y), kn.floorDivide(x, y), x.mod(y)],
  gives: [
    [3.5, -3.5, -3.5, 3.5],
    [3, -4, -4, 3],
    [1, 1, -1, -1],
  ],
});

inEveryForm('NaN follows NumPy in `max`, `min`, `sort`, `argmax`', {
  inputs: () => ({ x: kn.array([[2, NaN, 1], [3, 1, 2]]) }),
  code: ({ x }) => [x.max(1), x.min(1), x.sort(1), x.argmax(1), x.argmin(1), x.max(), kn.argsort(x, 1)],
  gives: [
    [NaN, 3], [NaN, 1], [[1, 2, NaN], [1, 2, 3]], [1n, 0n], [1n, 1n], NaN, [[2n, 0n, 1n], [1n, 2n, 0n]],
  ],
}); // prettier-ignore

inEveryForm('Axes: `sort(x, axis = -1)`, `argsort`, `topK(x, k, axis = -1)`', {
  inputs: () => ({ x: kn.array([[3, 1, 2], [4, 6, 5]]) }),
  code: ({ x }) => [kn.sort(x), kn.sort(x, 0), kn.argsort(x), kn.topK(x, 2), kn.topK(x, 1, 0)],
  gives: [
    [[1, 2, 3], [4, 5, 6]],
    [[3, 1, 2], [4, 6, 5]],
    [[1n, 2n, 0n], [0n, 2n, 1n]],
    { values: [[3, 2], [6, 5]], indices: [[0n, 2n], [1n, 2n]] },
    { values: [[4, 6, 5]], indices: [[1n, 1n, 1n]] },
  ],
}); // prettier-ignore

inEveryFormWithGradients('Axes: `softmax(x, axis = -1)`, `logSoftmax`, `cumsum(x, axis)`', {
  inputs: () => ({ x: kn.log(kn.array([[1, 3], [1, 1]])) }),
  code: ({ x }) => [
    kn.softmax(x), kn.softmax(x, 0), kn.logSoftmax(x).exp(), kn.cumsum(x.exp(), 0), kn.cumsum(x.exp(), 1),
  ],
  gives: [
    [[0.25, 0.75], [0.5, 0.5]], [[0.5, 0.75], [0.5, 0.25]], [[0.25, 0.75], [0.5, 0.5]], [[1, 3], [2, 4]], [[1, 4], [1, 2]],
  ],
}); // prettier-ignore

test('Arrays are values; the one in-place change is `x.assign(y)` (same shape and dtype)', () => {
  const x = kn.array([1, 2]);
  const [view, copy] = [x.reshape([2, 1]), x.slice([0, 2])];
  x.assign(kn.array([5, 6]));
  assert.deepEqual([x.tolist(), view.tolist(), copy.tolist()], [[5, 6], [[1], [2]], [1, 2]]); // prettier-ignore
  const y = kn.array([7, 8]);
  x.assign(y);
  y.assign(kn.array([0, 0]));
  assert.deepEqual(x.tolist(), [7, 8]);
  refused(() => x.assign(kn.ones([1, 2])), { kind: kn.ShapeError, op: 'assign', says: 'another shape' }, [x]); // prettier-ignore
  refused(() => x.assign(kn.ones([2], { dtype: 'float64' })), { kind: kn.DTypeError, op: 'assign', says: 'another dtype' }, [x]); // prettier-ignore
  refused(() => x.assign([1, 2] as never), { kind: kn.ArgumentError, op: 'assign', says: 'not an array' }, [x]); // prettier-ignore
});

test('JavaScript operators on arrays throw with advice', () => {
  const x = kn.array([1]) as unknown as number;
  for (const act of [() => x * 2, () => x + 1, () => -x, () => x < 2, () => `${x}` + x]) {
    const error = refused(act, { kind: kn.ArgumentError, says: 'JavaScript operators', lacks: ['actual'] }); // prettier-ignore
    assert.match(error.advice!, /item\(\)/);
  }
});

const wrong = (): { x: kn.NDArray; i: kn.NDArray } => ({
  x: kn.ones([2, 3]),
  i: kn.array([0, 5], { dtype: 'int32' }),
});

refusedInEveryForm('Errors: `ShapeError` sizes and ranks', wrong, ({ x }) => kn.concat([x, x.slice(0)]), {
  kind: kn.ShapeError,
  op: 'concat',
  says: 'concat',
}); // prettier-ignore
refusedInEveryForm('Errors: `ShapeError` names what an operator needed', wrong, ({ x }) => x.matmul(x), {
  kind: kn.ShapeError,
  op: 'matmul',
  says: '3',
}); // prettier-ignore
refusedInEveryForm('Errors: `DTypeError` dtypes', wrong, ({ x }) => kn.take(x, x, { axis: 0 }), {
  kind: kn.DTypeError,
  op: 'take',
  says: 'float32',
});
for (const foreign of [{}, null, undefined, '1', new Map(), () => 1, [['1']], new DataView(new ArrayBuffer(4))]) {
  refusedInEveryForm(`Errors: \`ArgumentError\` for an operand that is none: ${String(foreign)}`, wrong, ({ x }) => x.add(foreign as never), {
    kind: kn.ArgumentError, op: 'add', says: 'an array cannot hold',
  });
} // prettier-ignore

refusedInEveryForm('Errors: `DTypeError` for typed arrays of a dtype that there is not', wrong, ({ x }) => x.add(new Uint16Array(3) as never), {
  kind: kn.DTypeError, op: 'add', says: 'Uint16Array',
}); // prettier-ignore

refusedInEveryForm('Errors: `ArgumentError` everything else about a call', wrong, ({ x }) => kn.pad(x, [[1, 1], [1, 1]], { mode: 'mirror' as never }), {
  kind: kn.ArgumentError,
  op: 'pad',
  says: 'mirror',
}); // prettier-ignore
test('Errors: a message a person can act on, with every field and the line', () => {
  const x = kn.ones([2, 3]);
  const error = refused(() => x.add(kn.ones([4])), { kind: kn.ShapeError, op: 'add', says: 'do not broadcast' }); // prettier-ignore
  for (const part of [`add: ${error.problem}`, error.expected!, error.actual!, error.source!]) {
    assert.ok(error.message.includes(part), part);
  }
  assert.match(error.stack!, /^ShapeError: add: /);
});
