import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ArgumentError, DTypeError, ShapeError } from '../../src/base/errors.js';
import { describeHost, hostConstant, type HostValue } from '../../src/ir/host.js';

test('shape and kind of plain data', () => {
  const cases: [HostValue, string, readonly number[]][] = [
    [3, 'weak-int', []],
    [-0.5, 'weak-float', []],
    [NaN, 'weak-float', []],
    [true, 'weak-bool', []],
    [7n, 'int64', []],
    [[], 'weak-float', [0]],
    [[[], []], 'weak-float', [2, 0]],
    [[[1, 2, 3], [4, 5, 6]], 'weak-int', [2, 3]], // prettier-ignore
    [[1, 2.5], 'weak-float', [2]],
    [[true, 2], 'weak-int', [2]],
    [[1n, 2], 'int64', [2]],
    [[true, false], 'weak-bool', [2]],
    [[[[1]]], 'weak-int', [1, 1, 1]],
    [new Float32Array(3), 'float32', [3]],
    [new Float64Array(0), 'float64', [0]],
    [new BigInt64Array(2), 'int64', [2]],
    [new Uint8ClampedArray(1), 'uint8', [1]],
    [new Int8Array(1), 'int8', [1]],
    [new Int32Array(1), 'int32', [1]],
  ];
  for (const [value, kind, shape] of cases) {
    assert.deepEqual(describeHost(value), { kind, shape });
  }
});

test('ragged lists and foreign values name their place', () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const cases: [unknown, new (...args: never[]) => Error, RegExp][] = [
    [[[1, 2], [3]], ShapeError, /array: [^]*a list of 2[^]*a list of 1 at \[1\]/], // prettier-ignore
    [[[1], 2], ShapeError, /a single value at \[1\]/],
    [[1, [2]], ShapeError, /a single value[^]*a list of 1 at \[1\]/],
    [[1, ['2']], ShapeError, /at \[1\]/],
    [[1, '2'], ArgumentError, /cannot hold "2"[^]*at \[1\]/],
    [[[1, null]], ArgumentError, /null at \[0, 1\]/],
    [undefined, ArgumentError, /cannot hold undefined/],
    [{}, ArgumentError, /cannot hold an empty object/],
    [null, ArgumentError, /cannot hold null/],
    ['1', ArgumentError, /cannot hold "1"/],
    [new Map(), ArgumentError, /cannot hold a Map/],
    [() => 1, ArgumentError, /cannot hold function/],
    [new DataView(new ArrayBuffer(1)), ArgumentError, /cannot hold a DataView/],
    [new Uint16Array(1), DTypeError, /a Uint16Array/],
    [cyclic, ArgumentError, /nested too deeply/],
  ];
  for (const [value, kind, message] of cases) {
    assert.throws(
      () => describeHost(value as HostValue, 'array'),
      (error: Error) => error instanceof kind && message.test(error.message),
      String(message),
    );
  }
});

test('constants hold the elements in row-major order, converted', () => {
  assert.deepEqual(
    hostConstant(
      [
        [1, 2],
        [3, 4],
      ],
      'float32',
    ),
    {
      // prettier-ignore
      type: { dtype: 'float32', shape: [2, 2] },
      data: new Float32Array([1, 2, 3, 4]),
    },
  );
  assert.deepEqual(hostConstant([1, 2n, true], 'int64').data, new BigInt64Array([1n, 2n, 1n]));
  assert.deepEqual(hostConstant([0, -2, NaN], 'bool').data, new Uint8Array([0, 1, 1]));
  assert.deepEqual(hostConstant([1, -2], 'float16').data, new Uint16Array([0x3c00, 0xc000]));
  assert.deepEqual(hostConstant(1.5, 'float64'), {
    type: { dtype: 'float64', shape: [] },
    data: new Float64Array([1.5]),
  });
  assert.deepEqual(hostConstant(new Float64Array([1, 2]), 'int8').data, new Int8Array([1, 2]));
  const home = new Float32Array([1, 2]);
  const copy = hostConstant(home, 'float32').data;
  home[0] = 9;
  assert.deepEqual(copy, new Float32Array([1, 2]));
});

test('a number that the dtype cannot hold is refused', () => {
  const cases: [HostValue, 'int8' | 'uint8' | 'int32' | 'int64'][] = [
    [128, 'int8'], [-129, 'int8'], [-1, 'uint8'], [256, 'uint8'], [0.5, 'int32'], [2 ** 31, 'int32'],
    [NaN, 'int32'], [Infinity, 'int64'], [2 ** 63, 'int64'], [2n ** 63n, 'int64'], [-(2n ** 63n) - 1n, 'int64'],
    [new Float32Array([1, 1.5]), 'int32'],
  ]; // prettier-ignore
  for (const [value, dtype] of cases) {
    assert.throws(
      () => hostConstant(value, dtype, 'array'),
      DTypeError,
      `${String(value)} ${dtype}`,
    );
  }
  assert.deepEqual(hostConstant([-(2n ** 63n), 2n ** 63n - 1n], 'int64').data[1], 2n ** 63n - 1n);
});
