import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateDim, mulDim, symbol } from '../../../src/base/dim/index.js';
import { encodeAttributes, decodeAttributes } from '../../../src/base/attributes/schema.js';
import { ArgumentError, ShapeError } from '../../../src/base/errors.js';
import { resolveRange } from '../../../src/ops/movement/range.js';
import { slice, sliceAdjoint, type SliceIndex } from '../../../src/ops/index.js';
import { indicesOf, positionOf, randomOperand, sizeOf } from '../../support/arrays.js';
import {
  elementAt,
  evaluate,
  expectElements,
  gradientsOf,
  inferred,
} from '../../support/evaluate.js';
import { floats } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

/** The positions that Python's `range(*slice(start, stop, step).indices(extent))` gives, element by element. */
function positions(
  extent: number,
  start: number | null,
  stop: number | null,
  step: number,
): number[] {
  const wrap = (value: number): number => (value < 0 ? value + extent : value);
  const found: number[] = [];
  // Walk over every position the extent has, in the direction of the step, and keep those in the range.
  const from = start === null ? (step > 0 ? 0 : extent - 1) : wrap(start);
  const first = step > 0 ? Math.max(from, 0) : Math.min(from, extent - 1);
  for (let at = first; at >= 0 && at < extent; at += step) {
    if (stop !== null && (step > 0 ? at >= wrap(stop) : at <= wrap(stop))) break;
    found.push(at);
  }
  return found;
}

test('ranges follow Python for all starts, stops and steps', () => {
  for (const extent of [0, 1, 2, 5]) {
    const x = randomOperand(generator(extent), [extent], 'int64');
    const bounds = [null, -7, -3, -1, 0, 1, 2, 4, 5, 9];
    for (const step of [1, 2, 3, -1, -2, -5]) {
      for (const start of bounds) {
        for (const stop of bounds) {
          const expected = positions(extent, start, stop, step);
          const [y] = evaluate([x], (v) => slice(v, [start, stop, step]), 'interpreter');
          assert.deepEqual(
            [...(y.storage.host as BigInt64Array)],
            expected.map((at) => elementAt(x, [at])),
            `${extent}: ${start}:${stop}:${step}`,
          );
        }
      }
    }
  }
});

test('numbers drop axes, null adds them, the ellipsis fills', () => {
  const x = randomOperand(generator(2), [3, 4, 5], 'float32');
  const check = (
    indices: readonly SliceIndex[],
    shape: readonly number[],
    source: (index: readonly number[]) => readonly number[],
  ): void => expectElements([x], (v) => slice(v, ...indices), shape, (index) => elementAt(x, source(index))); // prettier-ignore
  check([1], [4, 5], ([b, c]) => [1, b, c]);
  check([-1, ':', 2], [4], ([b]) => [2, b, 2]);
  check(['...', -5], [3, 4], ([a, b]) => [a, b, 0]);
  check([null, '...', [1, 3], null], [1, 3, 4, 2, 1], ([, a, b, c]) => [a, b, c + 1]);
  check([0, 0, 0], [], () => [0, 0, 0]);
  check([[], [2], [null, null, -2]], [3, 2, 3], ([a, b, c]) => [a, b + 2, 4 - 2 * c]);
  check([], [3, 4, 5], (index) => index);
  check([[1, 1]], [0, 4, 5], (index) => index);
});

test('symbolic extents give the shape that every size will have', () => {
  const n = symbol('n', { min: 2 });
  const t = symbol('t');
  const shape = [n, t, 3];
  const infer = (...indices: SliceIndex[]): string =>
    inferred([{ dtype: 'float32', shape }], (v) => slice(v, ...indices));
  assert.equal(infer([0, -1]), 'float32[n - 1, t, 3]');
  assert.equal(infer([null, null, -1]), 'float32[n, t, 3]');
  assert.equal(infer(1), 'float32[t, 3]');
  assert.equal(infer(':', [null, t], 0), 'float32[n, t]');
});

test('mistakes name what was expected', () => {
  const x = floats([2, 3], [1, 2, 3, 4, 5, 6]);
  const run = (...indices: SliceIndex[]): unknown => evaluate([x], (v) => slice(v, ...indices));
  assert.throws(() => run(2), (error: Error) => {
    assert.ok(error instanceof ArgumentError);
    assert.match(error.message, /index 2 is outside axis 0/);
    assert.match(error.message, /from -2 to 1/);
    return true;
  }); // prettier-ignore
  const empty = (): unknown => evaluate([floats([0], [])], (v) => slice(v, 0));
  assert.throws(empty, /index 0 is outside axis 0[^]*no index: the axis is empty/);
  assert.throws(() => run(0, -4), ArgumentError);
  assert.throws(() => run(0, 0, 0), ShapeError);
  assert.throws(() => run('...', '...'), ArgumentError);
  assert.throws(() => run([0, 1, 0]), ArgumentError);
  assert.throws(() => run(0.5 as number), /take/);
  assert.throws(() => run(true as never), /booleanMask/);
});

test('the adjoint puts a block back where the slice came from', () => {
  const random = generator(3);
  const cases: readonly (readonly [readonly number[], readonly SliceIndex[]])[] = [
    [[5], [[1, 4]]],
    [[5], [[null, null, -1]]],
    [[6], [[5, 0, -2]]],
    [[4, 5], [[1, 3], [0, 5, 2]]],
    [[4, 5], [2, null, [1, 4]]],
    [[3, 4], ['...', -1]],
    [[2, 3, 4], [':', [2, 0, -1], [1, 2]]],
    [[3], [[2, 2]]],
    [[0, 2], [':', 1]],
  ]; // prettier-ignore
  for (const [shape, indices] of cases) {
    const x = randomOperand(random, shape);
    const [y] = evaluate([x], (v) => slice(v, ...indices));
    const weights = randomOperand(random, y.shape);
    // Independently: number the elements, slice the numbers, and add each weight to its number's place.
    const numbers = indicesOf(shape).map((index) => positionOf(index, shape));
    const numbered = evaluate(
      [floats(shape, numbers)],
      (v) => slice(v, ...indices),
      'interpreter',
    )[0];
    const expected = Array.from({ length: sizeOf(shape) }, () => 0);
    [...(numbered.storage.host as Float32Array)].forEach(
      (place, k) => (expected[place] += Number(weights.storage.host[k])),
    );
    assert.deepEqual(gradientsOf([x], (v) => slice(v, ...indices), weights)[0], expected);
  }
});

test('dimensions in indices are found and replaced', () => {
  const [n, m] = [symbol('n'), symbol('m')];
  const kind = slice.declaration.attributes.indices;
  const twice = kind.mapDims!([n, [null, m, -2], null, '...', [1, n, 1]], (dim) => mulDim(dim, 2));
  assert.equal(JSON.stringify(twice), '["2*n",[null,"2*m",-2],null,"...",[2,"2*n",1]]');
});

test('indices travel through JSON', () => {
  const n = symbol('n');
  const { declaration } = sliceAdjoint;
  const attributes = {
    shape: [n, 4],
    indices: [null, '...', 3, [null, n, -2], [0, null, 1]],
  };
  const text = JSON.stringify(encodeAttributes(declaration.attributes, attributes));
  const back = decodeAttributes(declaration.attributes, JSON.parse(text));
  assert.equal(JSON.stringify(back), JSON.stringify(attributes));
});

test('ranges of a symbolic extent that are equally long have one size', () => {
  const n = symbol('n');
  const lengthOf = (start: number | null, stop: number | null): string =>
    String(resolveRange(n, start, stop, 1).length);
  // As many elements are left where as many are taken away, at one end or both.
  const less = [[2, null], [null, -2], [0, -2], [1, -1]] as const; // prettier-ignore
  assert.equal(new Set(less.map(([start, stop]) => lengthOf(start, stop))).size, 1);
  assert.equal(lengthOf(-3, null), lengthOf(null, 3));
  for (const [start, stop, step] of [[2, null, 1], [null, -2, 1], [1, -1, 1], [3, -4, 2], [-5, -1, 1], [1, -2, 3], [-2, 4, 1], [-3, null, 2]] as const) {
    for (let extent = 0; extent < 9; extent++) {
      const expected = Array.from({ length: extent }, (_, i) => i).slice(start ?? 0, stop ?? undefined).filter((_, i) => i % step === 0); // prettier-ignore
      const symbolic = resolveRange(n, start, stop, step);
      for (const range of [symbolic, resolveRange(extent, start, stop, step)]) {
        const [from, length] = [range.start, range.length].map((dim) => evaluateDim(dim, new Map([['n', extent]])));
        assert.deepEqual(Array.from({ length: length! }, (_, i) => from! + i * step), expected, `${extent}: ${start}, ${stop}, ${step}`);
      }
    }
  }
}); // prettier-ignore
