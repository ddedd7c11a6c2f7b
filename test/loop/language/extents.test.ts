import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addDim, type Dim, floorDivDim, maxDim, minDim, mulDim, subDim, symbol,
} from '../../../src/base/dim/index.js'; // prettier-ignore
import * as e from '../../../src/loop/language/build.js';
import { ExtentParameters } from '../../../src/loop/language/extents.js';

const [n, m] = [symbol('n'), symbol('m')];

test('numbers are constants; equal sizes are one parameter, in the order in which they are asked for', () => {
  const extents = new ExtentParameters();
  const three = extents.extent(3);
  assert.ok(three.kind === 'const' && three.value === 3);
  const shape = extents.shape([m, 5, addDim(n, 1), m, addDim(1, n)]);
  assert.equal(shape[0], shape[3]);
  assert.equal(shape[2], shape[4]);
  assert.notEqual(shape[0], shape[2]);
  assert.deepEqual(extents.params.map(({ param }) => param), [shape[0], shape[2]]); // prettier-ignore
  assert.deepEqual(extents.params.map(({ dim }) => String(dim)), [String(m), String(addDim(n, 1))]); // prettier-ignore
  for (const { param } of extents.params) assert.match(param.name, /^\w+$/);
});

test('arithmetic on sizes is a size again', () => {
  const extents = new ExtentParameters();
  const [a, b] = extents.shape([n, m]);
  const cases: readonly (readonly [ReturnType<typeof e.add>, Dim])[] = [
    [e.i32(7), 7],
    [a, n],
    [e.add(a, b), addDim(n, m)],
    [e.sub(a, 2), subDim(n, 2)],
    [e.mul(a, b), mulDim(n, m)],
    [e.min(a, b), minDim(n, m)],
    [e.max(a, b), maxDim(n, m)],
    [e.div(a, 4), floorDivDim(n, 4)],
    [e.neg(a), subDim(0, n)],
    [e.mul(e.add(a, 1), e.sub(b, a)), mulDim(addDim(n, 1), subDim(m, n))],
  ];
  for (const [expr, dim] of cases) assert.equal(String(extents.dim(expr)), String(dim));
});

test('what depends on anything else is no size', () => {
  const extents = new ExtentParameters();
  const a = extents.extent(n);
  const other = e.variable('other', 'i32');
  for (const expr of [
    other,
    e.add(a, other),
    e.add(other, a),
    e.neg(other),
    e.load(e.buffer('x', 'i32'), a),
    e.rem(a, 2),
    e.abs(a),
  ]) {
    assert.equal(extents.dim(expr), undefined);
  }
});
