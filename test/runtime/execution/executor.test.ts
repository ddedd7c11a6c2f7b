import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { ArgumentError, DeviceError, DTypeError, GraphError } from '../../../src/base/errors.js';
import { add, flip, matmul, mul, neg, sum } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { Device } from '../../../src/runtime/memory/device.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { elementsOf, floats, operand, programOf } from '../../support/programs.js';

const n = symbol('n');
const vector = { dtype: 'float32', shape: [3] } as const;

test('pinned operands are read where they are and see what is written to them', () => {
  const executable = compile(programOf({ x: vector, y: vector }, ({ x, y }) => ({ z: add(x, y) })));
  const x = floats([3], [1, 2, 3]);
  const y = floats([3], [10, 20, 30]);
  x.storage.pin();
  assert.deepEqual(elementsOf(executable.run([x, y])[0]), [11, 22, 33]);
  x.storage.write(new Float32Array([4, 5, 6]));
  assert.deepEqual(elementsOf(executable.run([x, y])[0]), [14, 25, 36]);
  x.storage.unpin();
  assert.deepEqual(elementsOf(x), [4, 5, 6]);
  assert.deepEqual(elementsOf(executable.run([x, y])[0]), [14, 25, 36]);
});

test('results go into given storages, pinned or not, even those of operands', () => {
  for (const replaced of [undefined, [0, null]]) {
    for (const pinned of [false, true]) {
      const program = programOf({ x: vector, g: vector }, ({ x, g }) => ({
        next: add(x, mul(g, 2)),
        reversed: flip(x, 0),
      }));
      const executable = compile(program, replaced === undefined ? {} : { replaced });
      const x = floats([3], [1, 2, 3]);
      const g = floats([3], [1, 1, 1]);
      if (pinned) x.storage.pin();
      for (let step = 1; step <= 3; step++) {
        const before = elementsOf(x) as number[];
        const [next, reversed] = executable.run([x, g], [x.storage]);
        assert.equal(next.storage, x.storage);
        assert.deepEqual(
          elementsOf(x),
          before.map((element) => element + 2),
        );
        assert.deepEqual(elementsOf(reversed), before.toReversed());
      }
      assert.deepEqual(elementsOf(executable.run([x, g])[0]), [9, 10, 11]);
      assert.deepEqual(elementsOf(x), [7, 8, 9], 'a run without a target changes no operand');
    }
  }
});

test('an operand that is overwritten in place may be two operands at once', () => {
  const program = programOf({ x: vector, y: vector }, ({ x, y }) => ({
    a: neg(x),
    total: sum(matmul(y, y)),
    y,
  }));
  const executable = compile(program, { replaced: [0, null, null] });
  const x = floats([3], [1, 2, 3]);
  x.storage.pin();
  const [a, total, y] = executable.run([x, x], [x.storage]);
  assert.deepEqual(elementsOf(a), [-1, -2, -3]);
  assert.deepEqual(elementsOf(total), [14]);
  assert.deepEqual(elementsOf(y), [1, 2, 3]);
  x.storage.unpin();
});

test('two results may trade places', () => {
  const program = programOf({ x: vector, y: vector }, ({ x, y }) => ({ a: y, b: add(x, 0), c: x }));
  const executable = compile(program);
  for (const pinned of [false, true]) {
    const x = floats([3], [1, 2, 3]);
    const y = floats([3], [4, 5, 6]);
    if (pinned) [x, y].forEach(({ storage }) => storage.pin());
    const [, , c] = executable.run([x, y], [x.storage, y.storage, null]);
    assert.deepEqual(elementsOf(x), [4, 5, 6]);
    assert.deepEqual(elementsOf(y), [1, 2, 3]);
    assert.deepEqual(elementsOf(c), [1, 2, 3]);
  }
});

test('targets that do not fit are refused and nothing changes', () => {
  const executable = compile(programOf({ x: vector }, ({ x }) => ({ a: neg(x), b: add(x, 1) })));
  const x = floats([3], [1, 2, 3]);
  const target = Storage.zeros('float32', 3);
  const bad = [
    [Storage.zeros('float32', 4)],
    [target, Storage.zeros('float64', 3)],
    [target, target],
  ];
  const check = (): void => {
    for (const into of bad) assert.throws(() => executable.run([x], into), ArgumentError);
    assert.throws(() => executable.run([operand('int32', [3], [1, 2, 3])]), DTypeError);
  };
  check();
  executable.run([x], [null, Storage.zeros('float32', 3)]);
  executable.run([x]);
  check();
  assert.throws(() => executable.run([x], [null, null, target]), GraphError);
  assert.deepEqual([...target.host], [0, 0, 0]);
  assert.deepEqual(elementsOf(executable.run([x], [null, target])[0]), [-1, -2, -3]);
  assert.deepEqual([...target.host], [2, 3, 4]);
});

test('two results never go to one storage, however often others went to two', () => {
  const executable = compile(programOf({ x: vector }, ({ x }) => ({ a: neg(x), b: add(x, 1) })));
  const x = floats([3], [1, 2, 3]);
  for (const pinned of [false, true]) {
    const targets = [Storage.zeros('float32', 3), Storage.zeros('float32', 3)];
    if (pinned) targets.forEach((target) => target.pin());
    for (let round = 0; round < 2; round++) {
      executable.run([x], targets);
      assert.deepEqual(
        targets.map(({ host }) => host.slice()),
        [Float32Array.of(-1, -2, -3), Float32Array.of(2, 3, 4)],
      );
      for (const target of targets) {
        const before = target.host.slice();
        assert.throws(() => executable.run([x], [target, target]), ArgumentError);
        assert.deepEqual(target.host.slice(), before);
      }
    }
    targets.forEach((target) => target.unpin());
  }
});

test('results stay what they were when the program runs again', () => {
  const executable = compile(
    programOf({ x: { dtype: 'float32', shape: [n] } }, ({ x }) => ({ y: add(x, 1), s: sum(x) })),
  );
  const runs = [3, 0, 1, 1000, 3].map((length) => {
    const elements = Array.from({ length }, (_, i) => i % 7);
    return { elements, results: executable.run([floats([length], elements)]) };
  });
  for (const { elements, results } of runs) {
    assert.deepEqual(
      elementsOf(results[0]),
      elements.map((element) => element + 1),
    );
    assert.deepEqual(elementsOf(results[1]), [elements.reduce((a, b) => a + b, 0)]);
  }
});

test('programs on a device with too little memory fail with a typed error, and others still run', () => {
  const device = new Device({ maximumBytes: 1 << 20 });
  const executable = compile(
    programOf({ x: { dtype: 'float32', shape: [n] } }, ({ x }) => ({ y: flip(x, 0) })),
    { device },
  );
  const large = { storage: Storage.zeros('float32', 1 << 18), shape: [1 << 18] };
  assert.throws(() => executable.run([large]), DeviceError);
  assert.deepEqual(elementsOf(executable.run([floats([2], [1, 2])])[0]), [2, 1]);
  assert.throws(() => large.storage.pin(device), DeviceError);
  assert.equal(large.storage.isPinned, false);
});

test('a program says what its groups, kernels and places are', () => {
  const text = compile(programOf({ x: vector }, ({ x }) => ({ y: neg(add(x, 1)) }))).toString();
  assert.match(text, /group 0: add#\d+, neg#\d+/);
  assert.match(text, /kernel k0_add_neg/);
  assert.match(text, /input 0/);
});
