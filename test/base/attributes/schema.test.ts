import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as attr from '../../../src/base/attributes/attribute.js';
import { addDim, type Dim, mulDim, symbol } from '../../../src/base/dim/index.js';
import { ArgumentError } from '../../../src/base/errors.js';
import {
  checkAttributes,
  decodeAttributes,
  encodeAttributes,
  mapAttributeDims,
  symbolsOfAttributes,
} from '../../../src/base/attributes/schema.js';

const n = symbol('n', { min: 1, max: 9 });

/** Ranges do not travel with a dimension: programs keep them apart. */
const free = symbol('n');

/** Each kind with values it accepts and values it does not. */
const kinds: Record<string, [attr.Attribute<never>, unknown[], unknown[]]> = {
  int: [attr.int as never, [0, -3, 2 ** 53 - 1], [1.5, NaN, '1', null, undefined, 2 ** 53, 1n]],
  ints: [attr.ints as never, [[], [1, -2]], [1, [1.5], ['1'], null, { length: 0 }]],
  bool: [attr.bool as never, [true, false], [0, 'true', null]],
  string: [attr.string as never, ['', 'é"\n'], [1, null]],
  dtype: [attr.dtype as never, ['float32', 'bool'], ['float', 'constructor', 1]],
  number: [attr.number as never, [0.1, -0, NaN, Infinity, -Infinity, 1e-320], ['1', null, 1n]],
  dim: [attr.dim as never, [3, free, addDim(mulDim(2, free), 1)], ['n', 1.5, null]],
  dims: [attr.dims as never, [[], [2, free]], [free, ['n']]],
  oneOf: [attr.oneOf('a', 'b') as never, ['a', 'b'], ['c', '', null]],
  optional: [attr.optional(attr.ints) as never, [null, [1]], [undefined, [null]]],
  list: [attr.list(attr.optional(attr.bool)) as never, [[null, true], []], [true, [1]]],
};

for (const [name, [kind, accepted, refused]] of Object.entries(kinds)) {
  test(`${name}: accepts, refuses, and comes back from JSON as it was`, () => {
    for (const value of accepted) {
      assert.ok(kind.accepts(value));
      const json = JSON.parse(JSON.stringify(kind.encode(value as never))) as attr.Json;
      assert.deepEqual(kind.decode(json), value);
    }
    for (const value of refused) {
      assert.ok(!kind.accepts(value), attr.describe(value));
      assert.throws(() => checkAttributes('op', { x: kind }, { x: value }), ArgumentError);
    }
    for (const foreign of [{}, [{}]]) assert.throws(() => kind.decode(foreign), ArgumentError);
  });
}

const schema = { axis: attr.int, shape: attr.dims, rate: attr.number };

test('a schema refuses what is missing and what it does not know', () => {
  const good = { axis: 0, shape: [n], rate: -0 };
  checkAttributes('op', schema, good);
  assert.throws(
    () => checkAttributes('pad', schema, { ...good, axes: 1 }),
    (error) =>
      error instanceof ArgumentError && error.op === 'pad' && /no option axes/.test(error.message),
  );
  const json = encodeAttributes(schema, good);
  assert.deepEqual(json, { axis: 0, shape: ['n'], rate: '-0' });
  const { axis: _axis, ...missing } = json;
  assert.throws(() => decodeAttributes(schema, missing), /attribute axis is missing/);
  assert.throws(() => decodeAttributes(schema, { ...json, more: 1 }), /no attribute more/);
  const inherited = Object.create(json) as Record<string, attr.Json>;
  assert.throws(() => decodeAttributes(schema, inherited), /is missing/);
});

test('dimensions inside attributes are found and replaced', () => {
  const values = { axis: 0, shape: [n, 2, mulDim(2, n)], rate: 1 };
  const doubled = mapAttributeDims(schema, values, (dim) => mulDim(2, dim));
  assert.deepEqual((doubled.shape as Dim[]).map(String), ['2*n', '4', '4*n']);
  assert.equal(doubled.axis, 0);
  assert.deepEqual([...symbolsOfAttributes(schema, values)], [['n', { min: 1, max: 9 }]]);
  const none = { axis: 0 };
  assert.equal(
    mapAttributeDims({ axis: attr.int }, none, () => 0),
    none,
  );
});

test('any value has a short description', () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  const cases: [unknown, string][] = [
    ['a', '"a"'],
    [[1, [2n]], '[1, [2n]]'],
    [deep, '[[[[...]]]]'],
    [Array.from({ length: 9 }, () => 0), '[0, 0, 0, 0, 0, 0, 0, 0, ...]'],
    [new Map(), 'a Map'],
    [Object.create(null), 'an empty object'],
    [{ constructor: { name: 1 } }, 'an object with constructor'],
    [n, 'n'],
    [Symbol('s'), 'Symbol(s)'],
    [(): void => {}, 'function (anonymous)'],
    [undefined, 'undefined'],
  ];
  for (const [value, expected] of cases) assert.equal(attr.describe(value), expected);
});
