import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  addDim,
  type Dim,
  evaluateDim,
  floorDivDim,
  minDim,
  mulDim,
  subDim,
  symbol,
} from '../../src/base/dim/index.js';
import { DTypeError, GraphError, ShapeError } from '../../src/base/errors.js';
import { bindShapes, bindTypes, determinedSymbols, substituteType, symbolsTold } from '../../src/ir/bind.js'; // prettier-ignore
import type { Shape } from '../../src/ir/types.js';

const [n, m, k] = ['n', 'm', 'k'].map((name) => symbol(name));
const match = (declared: Shape, actual: readonly Dim[], name = 'x') => ({ name, declared, actual });
const bind = (...pairs: readonly [Shape, readonly Dim[]][]): Record<string, string> =>
  Object.fromEntries(
    [...bindShapes(pairs.map(([declared, actual]) => match(declared, actual)))].map(
      ([name, dim]) => [name, String(dim)],
    ),
  );

test('symbols take the sizes they meet', () => {
  assert.deepEqual(bind([[n, 3], [5, 3]]), { n: '5' }); // prettier-ignore
  assert.deepEqual(bind([[], []]), {});
  assert.deepEqual(bind([[n, m], [0, 1]], [[m, n], [1, 0]]), { n: '0', m: '1' }); // prettier-ignore
});

test('linear extents are solved, whichever comes first', () => {
  assert.deepEqual(bind([[addDim(mulDim(2, n), 1)], [7]]), { n: '3' });
  assert.deepEqual(bind([[subDim(10, mulDim(3, n))], [1]]), { n: '3' });
  assert.deepEqual(bind([[mulDim(n, m), m], [12, 4]]), { m: '4', n: '3' }); // prettier-ignore
  assert.deepEqual(bind([[addDim(mulDim(n, m), k)], [14]], [[m, k], [4, 2]]), { m: '4', k: '2', n: '3' }); // prettier-ignore
  assert.deepEqual(bind([[floorDivDim(n, 2), n], [2, 5]]), { n: '5' }); // prettier-ignore
});

test('sizes may be symbolic; the two sides are separate worlds', () => {
  assert.deepEqual(bind([[n, m], [m, n]]), { n: 'm', m: 'n' }); // prettier-ignore
  assert.deepEqual(bind([[mulDim(2, n)], [mulDim(6, m)]]), { n: '3*m' });
  assert.deepEqual(bind([[n, mulDim(n, m)], [m, mulDim(mulDim(m, k), 5)]]), { n: 'm', m: '5*k' }); // prettier-ignore
});

function refuses(message: RegExp, ...pairs: readonly [Shape, readonly Dim[]][]): void {
  assert.throws(
    () => bind(...pairs),
    (error) => error instanceof ShapeError && message.test(error.message),
  );
}

test('what does not fit is refused with the reason', () => {
  refuses(/input x has another rank[^]*\[n\][^]*\[2, 3\]/, [[n], [2, 3]]);
  refuses(/input x has another size on axis 1[^]*expected: 3 in \[n, 3\][^]*actual: {3}4 in \[2, 4\]/, [[n, 3], [2, 4]]); // prettier-ignore
  refuses(/axis 1[^]*n \(n = 2\)/, [[n, n], [2, 3]]); // prettier-ignore
  refuses(/axis 0/, [[mulDim(2, n)], [5]]);
  refuses(/axis 0[^]*floorDiv\(n, 2\) \(n = 5\)/, [[floorDivDim(n, 2), n], [3, 5]]); // prettier-ignore
  refuses(/n is outside its bounds[^]*n = -1/, [[addDim(n, 3)], [2]]);
  refuses(/the size of n cannot be determined/, [[floorDivDim(n, 2)], [3]]);
  refuses(/the size of n, m cannot be determined|the size of m, n cannot/, [[mulDim(n, m)], [6]]);
  refuses(/another size/, [[3], [n]]);
});

test('a zero factor determines nothing', () => {
  refuses(/cannot be determined/, [[m, mulDim(n, m)], [0, 0]]); // prettier-ignore
});

test('an extent that no size divides tells nothing: another one may', () => {
  const rows = (count: Dim, length: Dim): Dim => addDim(subDim(mulDim(count, length), mulDim(minDim(1, count), length)), 1); // prettier-ignore
  assert.deepEqual(bind([[k, rows(k, n), n], [m, rows(m, k), k]]), { k: 'm', n: 'k' }); // prettier-ignore
  assert.deepEqual(bind([[k, rows(k, n), n], [3, rows(3, 4), 4]]), { k: '3', n: '4' }); // prettier-ignore
  refuses(/axis 1/, [[k, rows(k, n), n], [3, 10, 4]]); // prettier-ignore
  refuses(/cannot be determined/, [[k, rows(k, n)], [m, rows(m, k)]]); // prettier-ignore
});

test('a shape tells the symbols of another one as far as it can', () => {
  const told = (declared: Shape, actual: Shape): Record<string, string> =>
    Object.fromEntries(
      [...symbolsTold(declared, actual)].map(([name, dim]) => [name, String(dim)]),
    );
  assert.deepEqual(told([4, addDim(n, 1)], [4, addDim(m, 1)]), { n: 'm' }); // prettier-ignore
  assert.deepEqual(told([addDim(n, m), m], [addDim(k, 3), k]), { m: 'k', n: '3' }); // prettier-ignore
  assert.deepEqual(told([mulDim(2, n)], [addDim(m, 1)]), {});
  assert.deepEqual(told([floorDivDim(n, 2), 3], [m, 3]), {}); // prettier-ignore
});

test('bounds hold for numbers and for symbols', () => {
  const time = symbol('time', { min: 1, max: 512 });
  refuses(/time is outside its bounds[^]*1 <= time <= 512[^]*time = 513/, [[time], [513]]);
  refuses(/outside its bounds/, [[time], [0]]);
  refuses(/outside its bounds/, [[time], [n]]);
  assert.deepEqual(bind([[time], [symbol('t', { min: 2, max: 100 })]]), { time: 't' });
  assert.deepEqual(bind([[symbol('free')], [subDim(n, 3)]]), { free: 'n - 3' });
});

test('types: counts, dtypes and names of inputs', () => {
  const declared = [
    { name: 'x', type: { dtype: 'float32', shape: [n] } },
    { name: 'y', type: { dtype: 'int64', shape: [n] } },
  ] as const;
  const array = (dtype: 'float32' | 'int64', size: number) => ({ dtype, shape: [size] });
  const found: Map<string, number> = bindTypes<number>(declared, [
    array('float32', 2),
    array('int64', 2),
  ]);
  assert.deepEqual([...found], [['n', 2]]);
  assert.throws(() => bindTypes(declared, [array('float32', 2)]), GraphError);
  assert.throws(
    () => bindTypes(declared, [array('float32', 2), array('float32', 2)], 'call'),
    (error) => error instanceof DTypeError && error.op === 'call' && /input y/.test(error.message),
  );
  assert.throws(
    () => bindTypes(declared, [array('float32', 2), array('int64', 3)], 'call'),
    (error) => error instanceof ShapeError && error.op === 'call' && /input y/.test(error.message),
  );
});

test('sizes that are bound give back the shape they came from', () => {
  const coefficient = fc.integer({ min: 1, max: 4 });
  const offset = fc.integer({ min: 0, max: 5 });
  const size = fc.integer({ min: 0, max: 9 });
  fc.assert(
    fc.property(coefficient, offset, coefficient, size, size, (a, c, b, nAt, mAt) => {
      const declared = [
        addDim(mulDim(a, n), c),
        addDim(mulDim(b, m), mulDim(n, n)),
        mulDim(n, m),
        floorDivDim(addDim(n, m), b),
      ];
      const at = new Map([['n', nAt], ['m', mAt]]); // prettier-ignore
      const actual = declared.map((dim) => evaluateDim(dim, at));
      assert.deepEqual([...bindShapes([match(declared, actual)])].sort(), [...at].sort());
    }),
    { seed: 5 },
  );
});

test('what a shape determines, and types in another world', () => {
  const type = (...shape: Dim[]) => ({ dtype: 'float32', shape }) as const;
  assert.deepEqual([...determinedSymbols([type(addDim(n, m)), type(mulDim(2, m))])], ['m', 'n']);
  // Where m is 0 the product is, whatever n is.
  assert.deepEqual([...determinedSymbols([type(mulDim(n, m)), type(mulDim(2, m))])], ['m']);
  assert.deepEqual([...determinedSymbols([type(mulDim(n, m))])], []);
  const still = type(2, 3);
  assert.equal(substituteType(still, new Map([['n', 1]])), still);
  assert.deepEqual(substituteType(type(n, addDim(n, m)), new Map([['n', 4]])).shape.map(String), [
    '4',
    'm + 4',
  ]);
});
