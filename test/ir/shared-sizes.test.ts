import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../src/base/dim/index.js';
import type { Program, Value } from '../../src/ir/program.js';
import { type Computation, type Describe, SharedSizes } from '../../src/ir/shared-sizes.js';
import { mul } from '../../src/ops/elementwise/arithmetic.js';
import { registry } from '../../src/ops/registry.js';
import { programOf } from '../support/programs.js';

const op = registry.get('booleanMask')!;
const greater = registry.get('greater')!;

/** The size of a selection from `data` by `mask`. */
function sizer(described: ReadonlyMap<object, Computation | string>) {
  const describe: Describe = (operand) => described.get(operand) ?? null;
  const sizes = new SharedSizes(describe);
  let made = 0;
  const fresh = (hint: string): Dim => symbol(`${hint}_${made++}`);
  return (data: object, mask: object): Dim =>
    sizes.freshFor(op, [data, mask], {}, fresh)('kept', undefined);
}

test('selections by one mask have one size, whatever is selected from', () => {
  const sizeBy = sizer(new Map());
  const [mask, other] = [{}, {}];
  assert.equal(sizeBy({}, mask), sizeBy({}, mask));
  assert.notEqual(sizeBy({}, mask), sizeBy({}, other));
});

test('masks of equal computations are one mask', () => {
  const [x, y] = [{}, {}];
  const compare = (...operands: object[]): Computation => ({
    op: greater,
    attributes: {},
    regions: [],
    operands,
    port: 0,
  });
  const masks = [{}, {}, {}, {}, {}];
  const zeros = [{}, {}, {}];
  const sizeBy = sizer(
    new Map<object, Computation | string>([
      [zeros[0], 'int32[]=0'],
      [zeros[1], 'int32[]=0'],
      [zeros[2], 'int32[]=1'],
      [masks[0], compare(x, zeros[0])],
      [masks[1], compare(x, zeros[1])],
      [masks[2], compare(x, zeros[2])],
      [masks[3], compare(y, zeros[0])],
      [masks[4], { ...compare(x, zeros[0]), port: 1 }],
    ]),
  );
  const [first, same, ...others] = masks.map((mask) => sizeBy({}, mask));
  assert.equal(first, same);
  for (const other of others) assert.notEqual(first, other);
});

test('masks made by equal regions are one mask', () => {
  const times = (factor: number): Program =>
    programOf({ x: { dtype: 'float32', shape: [2] } }, ({ x }) => ({ y: mul<Value>(x, factor) }));
  const x = {};
  const masks = [{}, {}, {}];
  const sizeBy = sizer(
    new Map(
      [times(2), times(2), times(3)].map((region, i) => [
        masks[i],
        { op: greater, attributes: {}, regions: [region], operands: [x], port: 0 },
      ]),
    ),
  );
  const [first, same, other] = masks.map((mask) => sizeBy({}, mask));
  assert.equal(first, same);
  assert.notEqual(first, other);
});

test('chains of calls that are too long are not compared', () => {
  const described = new Map<object, Computation>();
  const chain = (from: object, length: number): object => {
    let last = from;
    for (let i = 0; i < length; i++) {
      const next = {};
      described.set(next, { op: greater, attributes: {}, regions: [], operands: [last], port: 0 });
      last = next;
    }
    return last;
  };
  const x = {};
  const sizeBy = sizer(described);
  assert.equal(sizeBy({}, chain(x, 60)), sizeBy({}, chain(x, 60)));
  assert.notEqual(sizeBy({}, chain({}, 1000)), sizeBy({}, chain({}, 1000)));
});
