import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { floats, ints, model, node, value } from '../models.js';

type Attributes = Parameters<typeof node>[3];

/** The number of an element type. */
const codes = { float32: 1, int32: 6, int64: 7 } as const;

/** The result of one operator of `ai.onnx.ml`. */
function run(
  op: string,
  operands: readonly (readonly [keyof typeof codes, readonly number[], readonly number[]])[],
  attributes: Attributes,
): kn.NDArray {
  const names = operands.map((_, k) => `x${k}`);
  const bytes = model(
    {
      name: 'ml',
      node: [{ ...node(op, names, 'y', attributes), domain: 'ai.onnx.ml' }],
      input: operands.map(([dtype, shape], k) => value(names[k], shape, codes[dtype])),
      output: [value('y', [])],
    },
    {
      opsetImport: [
        { domain: '', version: 17n },
        { domain: 'ai.onnx.ml', version: 4n },
      ],
    },
  );
  const arrays = operands.map(([dtype, shape, data], k) => {
    const list = dtype === 'int64' ? data.map((x) => BigInt(x)) : data;
    return [names[k], kn.array(list as number[], { dtype }).reshape(shape)] as const;
  });
  return fromOnnx(bytes).run(Object.fromEntries(arrays)).y;
}

const numbers = (x: kn.NDArray): number[] =>
  (x.flatten().tolist() as (number | bigint)[]).map(Number);

describe('operators of ai.onnx.ml', () => {
  it('LabelEncoder gives the value of each key, of any kind, and the default for others', () => {
    const cases: readonly (readonly [
      keyof typeof codes,
      readonly number[],
      Attributes,
      readonly number[],
    ])[] = [
      ['int64', [3, 1, 9, 3], { keys_int64s: [1, 3], values_int64s: [10, 30] }, [30, 10, -1, 30]],
      [
        'int64',
        [3, 1, 9],
        { keys_int64s: [1, 3], values_int64s: [10, 30], default_int64: 7 },
        [30, 10, 7],
      ],
      ['int64', [3, 9], { keys_int64s: [1, 3], values_floats: { floats: [0.5, 2.5] } }, [2.5, -0]],
      [
        'int64',
        [3, 9],
        {
          keys_int64s: [1, 3],
          values_floats: { floats: [0.5, 2.5] },
          default_float: { float: 4.5 },
        },
        [2.5, 4.5],
      ],
      [
        'float32',
        [NaN, 0.5, 2],
        { keys_floats: { floats: [0.5, NaN] }, values_int64s: [1, 2] },
        [2, 1, -1],
      ],
      [
        'int64',
        [5, 6, 8],
        {
          keys_tensor: { tensor: ints('', [2], [5, 6]) },
          values_tensor: { tensor: floats('', [2], [1.5, -2]) },
          default_tensor: { tensor: floats('', [1], [9]) },
        },
        [1.5, -2, 9],
      ],
    ];
    for (const [dtype, x, attributes, expected] of cases) {
      const y = run('LabelEncoder', [[dtype, [x.length], x]], attributes);
      assert.deepEqual(numbers(y), expected);
      assert.equal(y.dtype, 'values_int64s' in attributes! ? 'int64' : 'float32');
      // Each element stands for itself.
      const table = run('LabelEncoder', [[dtype, [1, x.length, 1], x]], attributes);
      assert.deepEqual(table.shape, [1, x.length, 1]);
      assert.deepEqual(numbers(table), expected);
    }
  });

  it('LabelEncoder refuses keys without values, and strings', () => {
    const wrong: readonly Attributes[] = [
      { keys_int64s: [1, 2], values_int64s: [10] },
      { keys_strings: { strings: ['a'] }, values_int64s: [10] },
      { keys_int64s: [1], values_strings: { strings: ['a'] } },
    ];
    for (const attributes of wrong) {
      assert.throws(() => run('LabelEncoder', [['int64', [1], [1]]], attributes), { code: /KAON/ });
    }
  });

  it('Normalizer divides rows by a norm, unless it is 0', () => {
    const rows = [
      [3, -4, 0],
      [0, 0, 0],
      [-1, 2, 2],
    ] as const;
    const norms: Readonly<Record<string, (row: readonly number[]) => number>> = {
      MAX: (row) => Math.max(...row.map(Math.abs)),
      L1: (row) => row.reduce((sum, x) => sum + Math.abs(x), 0),
      L2: (row) => Math.hypot(...row),
    };
    for (const [name, norm] of Object.entries(norms)) {
      const expected = rows.flatMap((row) => row.map((x) => Math.fround(x / (norm(row) || 1))));
      for (const dtype of ['float32', 'int64', 'int32'] as const) {
        const y = run('Normalizer', [[dtype, [3, 3], rows.flat()]], { norm: name });
        assert.equal(y.dtype, 'float32');
        numbers(y).forEach((x, k) => assert.ok(Math.abs(x - expected[k]) < 1e-6, `${name}: ${x}`));
      }
    }
    const most = run('Normalizer', [['float32', [1, 2], [1, -4]]], {});
    assert.deepEqual(numbers(most), [0.25, -1]);
    assert.throws(() => run('Normalizer', [['float32', [1], [1]]], { norm: 'L3' }), /no such norm/);
  });

  it('Scaler takes the offset away and scales, by one number or one for each column', () => {
    const x = ['float32', [2, 2], [1, 2, 3, 4]] as const;
    const each = { offset: { floats: [1, 3] }, scale: { floats: [2, 10] } };
    assert.deepEqual(numbers(run('Scaler', [x], each)), [0, -10, 4, 10]);
    const one = { offset: { floats: [1] }, scale: { floats: [3] } };
    assert.deepEqual(numbers(run('Scaler', [x], one)), [0, 3, 6, 9]);
    assert.deepEqual(numbers(run('Scaler', [['int64', [2], [5, -1]]], {})), [5, -1]);
  });

  it('Binarizer tells what is above the threshold', () => {
    const x = ['float32', [4], [-1, 0, 0.5, 2]] as const;
    assert.deepEqual(numbers(run('Binarizer', [x], {})), [0, 0, 1, 1]);
    assert.deepEqual(numbers(run('Binarizer', [x], { threshold: { float: 0.5 } })), [0, 0, 0, 1]);
    assert.equal(run('Binarizer', [['int64', [1], [3]]], {}).dtype, 'int64');
  });

  it('ArrayFeatureExtractor takes columns', () => {
    const at = ['int64', [1, 2], [2, 0]] as const;
    const y = run('ArrayFeatureExtractor', [['float32', [2, 3], [1, 2, 3, 4, 5, 6]], at], {});
    assert.deepEqual(y.tolist(), [
      [3, 1],
      [6, 4],
    ]);
    const row = run('ArrayFeatureExtractor', [['float32', [3], [1, 2, 3]], at], {});
    assert.deepEqual(row.tolist(), [[3, 1]]);
  });

  it('FeatureVectorizer puts rows of numbers side by side', () => {
    const parts = [
      ['float32', [2, 1], [1, 2]],
      ['int64', [2, 2], [3, 4, 5, 6]],
    ] as const;
    const y = run('FeatureVectorizer', parts, { inputdimensions: [1, 2] });
    assert.deepEqual(y.tolist(), [
      [1, 3, 4],
      [2, 5, 6],
    ]);
    const row = run(
      'FeatureVectorizer',
      [
        ['float32', [2], [1, 2]],
        ['int32', [1], [7]],
      ],
      { inputdimensions: [2, 1] },
    );
    assert.deepEqual(row.tolist(), [[1, 2, 7]]);
  });
});
