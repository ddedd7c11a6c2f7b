import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  allocate,
  bytesOf,
  type DType,
  dtypes,
  isDType,
  isFloat,
  kindOf,
  promote,
  promoteAll,
  viewOf,
  type WeakKind,
} from '../../src/base/dtype.js';
import { DTypeError } from '../../src/base/errors.js';

const order = ['bool', 'uint8', 'int8', 'int32', 'int64', 'float16', 'bfloat16', 'float32', 'float64'] as const; // prettier-ignore

/** `torch.promote_types` as its documentation tabulates it; i2 is what Kaon widens to i4. */
const table = `
  b  u1 i1 i4 i8 f2 bf f4 f8
  u1 u1 i2 i4 i8 f2 bf f4 f8
  i1 i2 i1 i4 i8 f2 bf f4 f8
  i4 i4 i4 i4 i8 f2 bf f4 f8
  i8 i8 i8 i8 i8 f2 bf f4 f8
  f2 f2 f2 f2 f2 f2 f4 f4 f8
  bf bf bf bf bf f4 bf f4 f8
  f4 f4 f4 f4 f4 f4 f4 f4 f8
  f8 f8 f8 f8 f8 f8 f8 f8 f8`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/));
const short: Readonly<Record<string, DType>> = {
  b: 'bool', u1: 'uint8', i1: 'int8', i2: 'int32', i4: 'int32', i8: 'int64',
  f2: 'float16', bf: 'bfloat16', f4: 'float32', f8: 'float64',
}; // prettier-ignore

test('promotion is the documented table of PyTorch, symmetric by it', () => {
  assert.deepEqual([...order].sort(), [...dtypes].sort());
  order.forEach((a, row) =>
    order.forEach((b, column) => {
      assert.equal(promote(a, b), short[table[row][column]], `${a} with ${b}`);
      assert.equal(promoteAll([a, b]), promote(a, b));
    }),
  );
});

test('JavaScript numbers are weak: they change the kind, never the width', () => {
  const cases: [readonly (DType | WeakKind)[], DType][] = [
    [['float16', 'weak-float'], 'float16'],
    [['float16', 'weak-int'], 'float16'],
    [['int8', 'weak-int'], 'int8'],
    [['int8', 'weak-bool'], 'int8'],
    [['int64', 'weak-float'], 'float32'],
    [['bool', 'weak-int'], 'int64'],
    [['bool', 'weak-bool'], 'bool'],
    [['bool', 'weak-float'], 'float32'],
    [['weak-bool', 'int8', 'weak-float', 'bool'], 'float32'],
    [['weak-float', 'float64', 'int8'], 'float64'],
    [['weak-bool'], 'bool'],
    [['weak-int'], 'float32'],
    [['weak-int', 'weak-float'], 'float32'],
    [['uint8', 'int8', 'weak-int'], 'int32'],
  ];
  for (const [operands, expected] of cases) {
    assert.equal(promoteAll(operands), expected, operands.join(', '));
    assert.equal(promoteAll([...operands].reverse()), expected);
  }
  assert.throws(() => promoteAll([]), DTypeError);
});

test('facts agree with the typed arrays that hold the elements', () => {
  for (const dtype of dtypes) {
    const home = allocate(dtype, 3);
    assert.equal(home.length, 3);
    assert.equal(home.BYTES_PER_ELEMENT, bytesOf(dtype));
    const view = viewOf(dtype, new ArrayBuffer(32), 8, 2);
    assert.equal(view.byteOffset, 8);
    assert.equal(view.constructor, home.constructor);
    assert.equal(isFloat(dtype), kindOf(dtype) === 'float');
    assert.ok(isDType(dtype));
  }
  for (const foreign of ['float', 'constructor', '__proto__', '', 3, null, undefined]) {
    assert.ok(!isDType(foreign));
  }
});
