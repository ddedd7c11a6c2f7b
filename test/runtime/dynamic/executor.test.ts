import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, DTypeError, ShapeError } from '../../../src/base/errors.js';
import { installDebugging, parseFlags } from '../../../src/base/flags.js';
import type { Value } from '../../../src/ir/program.js';
import {
  add,
  booleanMask,
  broadcastTo,
  extents,
  greater,
  matmul,
  max,
  mean,
  mul,
  reshape,
  sub,
  sum,
  take,
  transpose,
} from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import type { CompileOptions } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { elementsOf, floats, operand } from '../../support/programs.js';
import { program } from './host.js';

const targets: readonly NonNullable<CompileOptions['target']>[] = ['interpreter', 'wasm'];
const n = symbol('n');
const m = symbol('m');
const vector = { dtype: 'float32', shape: [n] } as const;
const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

/** The elements over a bound, and those of them over their mean. */
const masks = program([vector], (x) => {
  const positive = booleanMask(x, greater(x, 0));
  const large = booleanMask(positive, greater(positive, mean(positive)));
  return [positive, large, sum(large), mul(large, 2)];
});

function masksOf(x: readonly number[]): number[][] {
  const positive = x.filter((e) => e > 0);
  const large = positive.filter((e) => e > total(positive) / positive.length);
  return [positive, large, [total(large)], large.map((e) => 2 * e)];
}

for (const target of targets) {
  test(`${target}: a mask of a mask`, () => {
    const executable = compile(masks, { target });
    for (const x of [[1, -2, 3, 4, -5, 6], [], [-1], [2], [5, 5, 5], [1, 2, 3, -4]]) {
      const results = executable.run([floats([x.length], x)]);
      assert.deepEqual(results.map(elementsOf), masksOf(x));
      assert.deepEqual(results[1].shape, [masksOf(x)[1].length]);
    }
    executable.release();
  });
}

test('nothing selected, before reductions and products', () => {
  const executable = compile(
    program([{ dtype: 'float32', shape: [n, m] }, vector], (x, y) => {
      const rows = booleanMask(x, greater(y, 0));
      const product = matmul(transpose(rows), rows);
      return [rows, product, sum(rows, 0), sum(rows), sub(x, sum(product))];
    }),
  );
  for (const y of [
    [-1, -1, -1],
    [1, -1, 1],
    [-1, 1, -1],
  ]) {
    const x = [
      [1, 2],
      [3, 4],
      [5, 6],
    ];
    const rows = x.filter((_, i) => y[i] > 0);
    const product = [0, 1].map((i) => [0, 1].map((j) => total(rows.map((row) => row[i] * row[j]))));
    const results = executable.run([floats([3, 2], x.flat()), floats([3], y)]);
    assert.deepEqual(results.map(elementsOf), [
      rows.flat(),
      product.flat(),
      [0, 1].map((j) => total(rows.map((row) => row[j]))),
      [total(rows.flat())],
      x.flat().map((e) => e - total(product.flat())),
    ]);
    assert.deepEqual(results[0].shape, [rows.length, 2]);
  }
});

test('a thousand runs of changing sizes need no more memory than the largest', () => {
  const device = new Device();
  const executable = compile(masks, { device });
  const run = (length: number, seed: number): void => {
    const x = Array.from({ length }, (_, i) => ((i * 7 + seed * 13) % 23) - 9);
    const results = executable.run([floats([length], x)]);
    assert.deepEqual(results.map(elementsOf), masksOf(x));
  };
  for (let seed = 0; seed < 5; seed++) run(5000, seed);
  const bytes = device.buffer.byteLength;
  for (let seed = 0; seed < 1000; seed++) run((seed * 37) % 400, seed);
  run(5000, 3);
  assert.equal(device.buffer.byteLength, bytes);
});

test('what is released can be taken again', () => {
  const device = new Device();
  const body = program([vector], (x) => [booleanMask(x, greater(x, 0))]);
  compile(body, { device }).release();
  const first = device.take(64);
  device.release(first);
  for (let k = 0; k < 100; k++) {
    const executable = compile(masks, { device });
    executable.run([floats([3], [1, 2, 3])]);
    executable.release();
  }
  const address = device.take(64);
  assert.ok(address <= first + 65536 + 2048, 'at most the arena lies before it');
});

test('sizes that alternate', () => {
  const executable = compile(masks);
  const inputs = [[1, 2, 3], [-1, 4, 5, 6, -7], [-1], [9, 8]];
  for (let k = 0; k < 24; k++) {
    const x = inputs[(k * 3) % inputs.length];
    assert.deepEqual(executable.run([floats([x.length], x)]).map(elementsOf), masksOf(x));
  }
});

test('results go where they are wanted, also over operands', () => {
  const whole = program([vector, vector], (x, y) => {
    const large = booleanMask(x, greater(x, 0));
    return [add(y, sum(large)), x, large, large, add(x, sum(large))];
  });
  const executable = compile(whole);
  for (const pinned of [false, true]) {
    const [x, y] = [floats([3], [1, -2, 3]), floats([3], [10, 20, 30])];
    if (pinned) for (const { storage } of [x, y]) storage.pin();
    const kept = Storage.zeros('float32', 2);
    // The first result replaces y, the last one x, which is a result as well.
    const results = executable.run([x, y], [y.storage, null, kept, null, x.storage]);
    assert.deepEqual(results.map(elementsOf), [
      [14, 24, 34],
      [1, -2, 3],
      [1, 3],
      [1, 3],
      [5, 2, 7],
    ]);
    assert.equal(results[0].storage, y.storage);
    assert.equal(results[2].storage, kept);
    assert.equal(results[4].storage, x.storage);
    assert.equal(new Set(results.map(({ storage }) => storage)).size, 5);
    for (const { storage } of [x, y]) storage.unpin();
  }
  const given = [floats([1], [1]), floats([1], [1])];
  const wrong = Storage.zeros('float32', 5);
  assert.throws(() => executable.run(given, [null, null, wrong]), ArgumentError);
  assert.throws(() => executable.run(given, [wrong, wrong]), ArgumentError);
});

test('operands that do not fit are refused by name', () => {
  const executable = compile(masks);
  assert.throws(
    () => executable.run([floats([1, 1], [1])]),
    (error) => error instanceof ShapeError && /input x0/.test(error.message),
  );
  assert.throws(() => executable.run([operand('int32', [1], [1])]), DTypeError);
});

test('what is required of a size is checked once it is known', () => {
  const executable = compile(
    program([vector], (x) => {
      const positive = booleanMask(x, greater(x, 0));
      const pairs = x.program.withSource('model.ts:4:9', () => reshape(positive, [-1, 2]));
      return [max(pairs, 1)];
    }),
  );
  const run = (...x: number[]): unknown => elementsOf(executable.run([floats([x.length], x)])[0]);
  assert.deepEqual(run(1, 4, -1, 3, 2), [4, 3]);
  assert.throws(
    () => run(1, -4, 2, 3),
    (error) =>
      error instanceof ShapeError && error.op === 'reshape' && error.source === 'model.ts:4:9',
  );
  assert.deepEqual(run(-1), []);
});

test('sizes that are elements of an array', () => {
  const executable = compile(
    program([vector, { dtype: 'int64', shape: [2] }], (x, sizes) => {
      const [rows, columns] = x.program.withSource('model.ts:9:1', () => extents<Value>(sizes)).type
        .shape;
      const wide = broadcastTo(reshape(x, [n, 1, 1]), [n, rows, columns]);
      return [wide, sum(wide, [1, 2])];
    }),
  );
  for (const [rows, columns] of [
    [2, 3],
    [0, 4],
    [1, 1],
  ]) {
    const sizes = operand('int64', [2], [BigInt(rows), BigInt(columns)]);
    const [wide, sums] = executable.run([floats([2], [5, 7]), sizes]);
    assert.deepEqual(wide.shape, [2, rows, columns]);
    assert.deepEqual(elementsOf(sums), [5 * rows * columns, 7 * rows * columns]);
  }
  assert.throws(
    () => executable.run([floats([1], [1]), operand('int64', [2], [3n, -2n])]),
    (error) =>
      error instanceof ShapeError &&
      /a size is negative/.test(error.message) &&
      /= -2/.test(error.message) &&
      error.source === 'model.ts:9:1',
  );
});

test('a size over the most that was said is refused', () => {
  const executable = compile(
    program([{ dtype: 'int32', shape: [1] }, vector], (sizes, x) => {
      const [rows] = extents<Value>(sizes, { most: [3] }).type.shape;
      return [broadcastTo(reshape(x, [1, n]), [rows, n])];
    }),
  );
  const run = (rows: number): unknown =>
    elementsOf(executable.run([operand('int32', [1], [rows]), floats([1], [7])])[0]);
  assert.deepEqual(run(3), [7, 7, 7]);
  assert.throws(
    () => run(4),
    (error) => error instanceof ShapeError && /0 <= size_0 <= 3/.test(error.message),
  );
  assert.deepEqual(run(0), []);
});

test('the sizes themselves can be read', () => {
  const executable = compile(
    program([{ dtype: 'int32', shape: [1] }], (sizes) => {
      const made = extents<Value>(sizes);
      return [made, mul(sum(made), 3)];
    }),
  );
  const [made, sums] = executable.run([operand('int32', [1], [3])]);
  assert.deepEqual(elementsOf(made), [false, false, false]);
  assert.deepEqual(elementsOf(sums), [0n]);
});

test('text and debugging show islands, sizes and what the host runs, in order', () => {
  const lines: string[] = [];
  const previous = installDebugging({
    flags: parseFlags('passes'),
    print: (block) => void lines.push(...block.split('\n')),
  });
  let text: string;
  try {
    text = compile(masks).toString();
  } finally {
    installDebugging(previous);
  }
  const order = [...text.matchAll(/^(?:run (island \d)\(|load (\w+) = )/gm)].map((match) => match[1] ?? match[2]); // prettier-ignore
  assert.deepEqual(order, ['island 0', 'count_0', 'island 1', 'count_1', 'island 2']);
  assert.match(text, /^run island 1\(.*, count_0\) -> /m);
  assert.match(text, /^island 0:\n {2}group 0:/m);
  // Both begin with the statements that the host executes.
  const statements = text.slice(0, text.indexOf('\nisland 0:')).split('\n');
  const start = lines.findIndex((line) => line.trim() === statements[0]);
  const printed = lines.slice(start, start + statements.length).map((line) => line.trim());
  assert.deepEqual(printed, statements);
  const heads = lines.filter((line) => line.startsWith('kaon: '));
  assert.deepEqual(
    heads.map((line) => line.replace(/ \(.*/, '')),
    ['kaon: compile', 'kaon: island 0', 'kaon: island 1', 'kaon: island 2'],
  );
});

test('positions are checked against sizes that the data decides', () => {
  const executable = compile(
    program([vector, { dtype: 'int32', shape: [2] }], (x, at) => {
      const positive = booleanMask(x, greater(x, 0));
      return [x.program.withSource('model.ts:5:5', () => take(positive, at))];
    }),
  );
  const run = (x: number[], at: number[]): unknown =>
    elementsOf(executable.run([floats([x.length], x), operand('int32', [2], at)])[0]);
  assert.deepEqual(run([5, -1, 7], [1, 0]), [7, 5]);
  assert.throws(
    () => run([5, -1, 7], [1, 2]),
    (error) =>
      error instanceof ArgumentError &&
      error.message.startsWith('take: in captured code: index 2 is outside the axis') &&
      error.source === 'model.ts:5:5',
  );
  assert.deepEqual(run([5, 1, 7], [1, 2]), [1, 7]);
});
