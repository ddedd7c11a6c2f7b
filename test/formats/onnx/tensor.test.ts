import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadProtobuf, protobufFor } from '../../../src/formats/onnx/proto/library.js';
import { readSparse, readTensor } from '../../../src/formats/onnx/tensor.js';
import { floats, ints, type Tensor } from './models.js';

await loadProtobuf();

const { create, schema } = protobufFor('test');
const read = (tensor: Tensor) =>
  readTensor(create(schema.TensorProtoSchema, tensor), 'the tensor', null);

/** Bits of floats of 16 bits. */
const bits = { one: 0x3c00, minusTwo: 0xc000, brainOne: 0x3f80, brainMinusTwo: 0xc000 };

/** A tensor in the field of its element type, the elements that it has, and the array that holds them here. */
const fields: Readonly<
  Record<string, readonly [Tensor, readonly (number | bigint)[], new (length: number) => object]>
> = {
  float: [{ dataType: 1, floatData: [1.5, -2] }, [1.5, -2], Float32Array],
  uint8: [{ dataType: 2, int32Data: [0, 255] }, [0, 255], Uint8Array],
  int8: [{ dataType: 3, int32Data: [-128, 127] }, [-128, 127], Int8Array],
  uint16: [{ dataType: 4, int32Data: [1, 65535] }, [1, 65535], Int32Array],
  int16: [{ dataType: 5, int32Data: [-32768, 32767] }, [-32768, 32767], Int32Array],
  int32: [{ dataType: 6, int32Data: [-5, 2 ** 31 - 1] }, [-5, 2 ** 31 - 1], Int32Array],
  int64: [{ dataType: 7, int64Data: [-5n, 2n ** 62n] }, [-5n, 2n ** 62n], BigInt64Array],
  bool: [{ dataType: 9, int32Data: [0, 7] }, [0, 1], Uint8Array],
  float16: [
    { dataType: 10, int32Data: [bits.one, bits.minusTwo] },
    [bits.one, bits.minusTwo],
    Uint16Array,
  ],
  double: [{ dataType: 11, doubleData: [0.1, -2] }, [0.1, -2], Float64Array],
  uint32: [{ dataType: 12, uint64Data: [1n, 2n ** 32n - 1n] }, [1n, 2n ** 32n - 1n], BigInt64Array],
  uint64: [{ dataType: 13, uint64Data: [1n, 2n ** 64n - 1n] }, [1n, -1n], BigInt64Array],
  bfloat16: [
    { dataType: 16, int32Data: [bits.brainOne, bits.brainMinusTwo] },
    [bits.brainOne, bits.brainMinusTwo],
    Uint16Array,
  ],
  // 1.5 = 1.1b * 2^0; the exponent has a bias of 7.
  float8e4m3fn: [
    { dataType: 17, int32Data: [0b0_0111_100, 0b1_0111_100] },
    [1.5, -1.5],
    Float32Array,
  ],
  uint4: [{ dataType: 21, int32Data: [0xf1] }, [1, 15], Uint8Array],
  int4: [{ dataType: 22, int32Data: [0x87] }, [7, -8], Int8Array],
  uint2: [{ dataType: 25, int32Data: [0b1001] }, [1, 2], Uint8Array],
  int2: [{ dataType: 26, int32Data: [0b1001] }, [1, -2], Int8Array],
};

describe('tensors of ONNX in typed fields', () => {
  for (const [name, [tensor, expected, Carrier]] of Object.entries(fields)) {
    it(`${name}: has its elements`, () => {
      const { data, element, type } = read({ ...tensor, dims: [2n] });
      assert.equal(element.name, name);
      assert.deepEqual(type.shape, [2]);
      assert.ok(data instanceof Carrier);
      assert.deepEqual([...data], expected);
    });

    it(`${name}: is refused with too few elements, or too many`, () => {
      const perEntry = name.endsWith('4') && name.length <= 5 ? 2 : name.endsWith('int2') ? 4 : 1;
      for (const count of [perEntry === 1 ? 1 : 2 * perEntry + 1, 3 * perEntry]) {
        assert.throws(() => read({ ...tensor, dims: [BigInt(count)] }), { name: 'FormatError' });
      }
    });
  }

  it('an odd number of narrow elements ends within an entry', () => {
    assert.deepEqual(
      [...read({ dataType: 21, int32Data: [0x21, 0x3], dims: [3n] }).data],
      [1, 2, 3],
    );
    assert.deepEqual(
      [...read({ dataType: 26, int32Data: [0b11100100, 1], dims: [5n] }).data],
      [0, 1, -2, -1, 1],
    );
  });

  it('without elements is empty, in any field', () => {
    for (const dataType of [1, 6, 7, 9, 11, 13, 21]) {
      assert.equal(read({ dataType, dims: [0n, 3n] }).data.length, 0);
    }
  });

  it('in segments, of strings and of complex numbers is refused', () => {
    assert.throws(() => read({ ...floats('x', [1], [1]), segment: { begin: 0n, end: 1n } }), {
      name: 'UnsupportedError',
    });
    for (const dataType of [8, 14, 15]) {
      assert.throws(() => read({ dataType, dims: [1n] }), { name: 'UnsupportedError' });
    }
  });
});

describe('sparse tensors of ONNX', () => {
  const sparse = (values: Tensor, indices: Tensor, dims: readonly number[]) =>
    readSparse(
      create(schema.SparseTensorProtoSchema, { values, indices, dims: dims.map(BigInt) }),
      'it',
      null,
    );

  it('are written out, with positions in the flat array or by axis', () => {
    const flat = sparse(floats('', [3], [1, 2, 3]), ints('', [3], [0, 4, 5]), [2, 3]);
    assert.deepEqual([...flat.data], [1, 0, 0, 0, 2, 3]);
    assert.deepEqual(flat.type, { dtype: 'float32', shape: [2, 3] });
    const byAxis = sparse(floats('', [3], [1, 2, 3]), ints('', [3, 2], [0, 0, 1, 1, 1, 2]), [2, 3]);
    assert.deepEqual([...byAxis.data], [1, 0, 0, 0, 2, 3]);
    const whole = sparse(ints('', [1], [9]), ints('', [1], [2]), [3]);
    assert.deepEqual([...whole.data], [0n, 0n, 9n]);
  });

  it('are refused where positions do not fit', () => {
    const one = floats('', [1], [1]);
    for (const [values, indices, dims] of [
      [one, ints('', [1], [6]), [2, 3]],
      [one, ints('', [1], [-1]), [2, 3]],
      [one, ints('', [1, 2], [0, 3]), [2, 3]],
      [one, ints('', [1, 2], [1, -1]), [2, 3]],
      [one, ints('', [1, 2], [2, 0]), [2, 3]],
      [one, ints('', [2], [0, 1]), [2, 3]],
      [one, ints('', [1, 1], [0]), [2, 3]],
      [floats('', [1, 1], [1]), ints('', [1], [0]), [2, 3]],
      [one, { ...ints('', [1], []), dataType: 6, rawData: new Uint8Array(4) }, [2, 3]],
    ] as const) {
      assert.throws(() => sparse(values, indices, dims), { name: 'FormatError' });
    }
    assert.throws(() => sparse(one, ints('', [1], [0]), [2 ** 24, 2]), {
      name: 'UnsupportedError',
    });
  });
});
