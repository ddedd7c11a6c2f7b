import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JsonReader } from '../../../src/base/attributes/reader.js';
import { ArgumentError, FormatError } from '../../../src/base/errors.js';

const reader = (value: unknown): JsonReader => new JsonReader(value, 'model');

/** Expects a refusal that says where, what was expected and what was there. */
function refuses(act: () => unknown, place: string, expected: string, actual: string): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof FormatError);
    assert.equal(error.problem, `${place} does not read`);
    assert.deepEqual([error.expected, error.actual], [expected, actual]);
    return true;
  });
}

test('values of the right kind are read as they are', () => {
  assert.equal(reader('x').string(), 'x');
  for (const value of [0, -3, 2 ** 53 - 1]) assert.equal(reader(value).integer(), value);
  for (const value of [0, 7]) assert.equal(reader(value).natural(), value);
  assert.ok(reader(null).isNull());
  assert.ok(!reader(0).isNull());
  assert.equal(reader(1.5).raw(), 1.5);
  assert.deepEqual(reader({ a: 1 }).record(), { a: 1 });
  assert.deepEqual(reader([4, 5]).list().map((entry) => entry.integer()), [4, 5]); // prettier-ignore
  assert.equal(reader([]).list(0).length, 0);
  assert.equal(
    reader({ a: { b: 'deep' } })
      .field('a')
      .field('b')
      .string(),
    'deep',
  );
  assert.equal(reader({ a: 1 }).optional('b'), undefined);
  assert.equal(reader({ a: undefined }).optional('a')!.raw(), undefined);
});

test('values of another kind are refused, with their place', () => {
  refuses(() => reader(3).string(), 'model', 'a string', '3');
  for (const value of [1.5, NaN, 2 ** 53]) {
    refuses(() => reader(value).integer(), 'model', 'an integer', String(value));
  }
  assert.throws(() => reader('3').integer(), FormatError);
  refuses(() => reader(-1).natural(), 'model', 'a whole number of at least 0', '-1');
  refuses(() => reader({ a: [1, 'x'] }).field('a').list()[1].integer(), 'model.a[1]', 'an integer', '"x"'); // prettier-ignore
  refuses(() => reader([1]).list(2), 'model', 'a list of 2', 'a list');
  assert.throws(() => reader({}).list(), FormatError);
  for (const value of [[], null, 3, 'x']) assert.throws(() => reader(value).record(), FormatError);
  refuses(() => reader([]).field('a'), 'model', 'an object', 'a list');
  assert.throws(() => reader({}).field('a'), /model does not read[^]*an object with a/);
});

test('only properties of its own are looked at', () => {
  const inherited = Object.create({ a: 1 }) as object;
  assert.equal(reader(inherited).optional('a'), undefined);
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    assert.equal(reader({}).optional(name), undefined);
    assert.throws(() => reader({}).field(name), FormatError);
  }
  assert.equal((reader(JSON.parse('{"__proto__": 3}')).field('__proto__')).integer(), 3); // prettier-ignore
});

test('errors of steps name the place, and other errors pass', () => {
  const cause = new ArgumentError('too large', { op: 'x', expected: 'at most 3', actual: '4' });
  const given = reader({ a: 4 }).field('a');
  assert.equal(given.guard(() => 5), 5); // prettier-ignore
  assert.throws(
    () => given.guard(() => { throw cause; }),
    (error) => {
      assert.ok(error instanceof FormatError);
      assert.equal(error.problem, 'model.a does not read: too large');
      assert.deepEqual([error.expected, error.actual, error.cause], ['at most 3', '4', cause]);
      return true;
    },
  ); // prettier-ignore
  const own = new RangeError('ours');
  assert.throws(() => given.guard(() => { throw own; }), (error) => error === own); // prettier-ignore
});
