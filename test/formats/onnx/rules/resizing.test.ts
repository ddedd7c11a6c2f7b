import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { floats, ints, model, node, value } from '../models.js';

/** One row, resized to a length or by a scale. */
function run(
  row: readonly number[],
  to: { readonly size: number } | { readonly scale: number },
  attributes: Parameters<typeof node>[3],
): number[] {
  const isSized = 'size' in to;
  const bytes = model(
    {
      name: 'resize',
      node: [
        node('Resize', isSized ? ['x', '', '', 'to'] : ['x', '', 'to'], 'y', {
          ...attributes,
          axes: [0],
        }),
      ],
      input: [value('x', [row.length])],
      output: [value('y', [])],
      initializer: [isSized ? ints('to', [1], [to.size]) : floats('to', [1], [to.scale])],
    },
    { opsetImport: [{ domain: '', version: 18n }] },
  );
  return fromOnnx(bytes)
    .run({ x: kn.array([...row]) })
    .y.tolist() as number[];
}

const row = [1, -2, 4, 8, -16];

/** Keys' kernel. */
function keys(x: number, a: number): number {
  const d = Math.abs(x);
  if (d < 1) return (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1;
  return d < 2 ? a * (d ** 3 - 5 * d ** 2 + 8 * d - 4) : 0;
}

/** The row between its elements, which repeat at the ends. */
function between(at: number, mode: 'linear' | 'cubic', a = -0.75): number {
  const weight = (x: number): number =>
    mode === 'cubic' ? keys(x, a) : Math.max(0, 1 - Math.abs(x));
  let sum = 0;
  for (let k = Math.floor(at) - 1; k <= Math.floor(at) + 2; k++) {
    sum += weight(at - k) * row[Math.min(Math.max(k, 0), row.length - 1)];
  }
  return sum;
}

/** The coordinate of each of `to` positions, as the operator's documentation has it. */
const origins: Readonly<Record<string, (at: number, to: number) => number>> = {
  half_pixel: (at, to) => ((at + 0.5) * row.length) / to - 0.5,
  pytorch_half_pixel: (at, to) => (to > 1 ? ((at + 0.5) * row.length) / to - 0.5 : 0),
  align_corners: (at, to) => (to > 1 ? (at * (row.length - 1)) / (to - 1) : 0),
  asymmetric: (at, to) => (at * row.length) / to,
};

describe('Resize of ONNX', () => {
  for (const [transformation, origin] of Object.entries(origins)) {
    it(`${transformation}: takes elements at the coordinates that are documented, for a length of 1 too`, () => {
      for (const size of [1, 2, 3, 5, 7, 10]) {
        for (const mode of ['linear', 'cubic'] as const) {
          const found = run(
            row,
            { size },
            { mode, coordinate_transformation_mode: transformation },
          );
          const expected = Array.from({ length: size }, (_, at) => between(origin(at, size), mode));
          assert.equal(found.length, size);
          found.forEach((x, k) =>
            assert.ok(
              Math.abs(x - expected[k]) < 1e-4,
              `${mode} to ${size} [${k}]: ${x}, not ${expected[k]}`,
            ),
          );
        }
        const roundings: Readonly<Record<string, (x: number) => number>> = {
          floor: Math.floor,
          ceil: Math.ceil,
          round_prefer_floor: (x) => Math.ceil(x - 0.5),
          round_prefer_ceil: (x) => Math.floor(x + 0.5),
        };
        for (const [rounding, round] of Object.entries(roundings)) {
          const found = run(
            row,
            { size },
            {
              mode: 'nearest',
              coordinate_transformation_mode: transformation,
              nearest_mode: rounding,
            },
          );
          const expected = Array.from({ length: size }, (_, at) => {
            const place = round(origin(at, size));
            return row[Math.min(Math.max(place, 0), row.length - 1)];
          });
          assert.deepEqual(found, expected, `${rounding} to ${size}`);
        }
      }
    });
  }

  it('a scale that leaves one element leaves the first, where PyTorch does not look for the middle', () => {
    const attributes = { mode: 'cubic', coordinate_transformation_mode: 'pytorch_half_pixel' };
    assert.deepEqual(run(row, { scale: 0.3 }, attributes), [1]);
    assert.deepEqual(run(row, { scale: 0.2 }, attributes), [1]);
  });

  it('what is not documented is refused', () => {
    assert.throws(
      () => run(row, { size: 2 }, { mode: 'linear', coordinate_transformation_mode: 'middle' }),
      /no such transformation/,
    );
    assert.throws(
      () => run(row, { size: 2 }, { mode: 'nearest', nearest_mode: 'middle' }),
      /no such rounding/,
    );
  });

  /** Where the new length of a row comes from: elements, the size of another array, or a factor. */
  const sources = ['sizes', 'shape', 'scales'] as const;

  /** A model that resizes rows of any length to any other. */
  function resizing(
    source: (typeof sources)[number],
    attributes: Parameters<typeof node>[3],
  ): (size: number) => number[] {
    const isScaled = source === 'scales';
    const to = isScaled ? ['', '', 'to'] : ['', '', '', 'to'];
    const bytes = model(
      {
        name: 'resize',
        node: [
          ...(source === 'shape' ? [node('Shape', ['like'], 'to')] : []),
          node('Resize', ['x', ...to.slice(1)], 'y', { ...attributes, axes: [1] }),
        ],
        input: [
          value('x', ['rows', 'n']),
          ...(source === 'shape' ? [value('like', ['m'])] : [value('to', [1], isScaled ? 1 : 7)]),
        ],
        output: [value('y', [null, null])],
      },
      { opsetImport: [{ domain: '', version: 18n }] },
    );
    const graph = fromOnnx(bytes);
    const x = kn.array([row, row.map((each) => -each)]);
    return (size) => {
      const { y } = graph.run({
        x,
        ...(source === 'shape' && { like: kn.zeros([size]) }),
        ...(source === 'sizes' && { to: kn.array([size], { dtype: 'int64' }) }),
        // The least factor that gives the size: rounded to float32 it may be too small.
        ...(isScaled && { to: kn.array([(size + 1e-6) / row.length]) }),
      });
      assert.deepEqual(y.shape, [2, size]);
      const [first, second] = y.tolist() as number[][];
      assert.deepEqual(first, second.map((each) => 0 - each)); // prettier-ignore
      return first;
    };
  }

  for (const source of sources) {
    it(`lengths and ${source} that only a run knows give the same`, () => {
      for (const [transformation, origin] of Object.entries(origins)) {
        const common = { coordinate_transformation_mode: transformation };
        for (const mode of ['linear', 'cubic'] as const) {
          const resize = resizing(source, { ...common, mode });
          for (const size of [1, 2, 3, 7]) {
            const found = resize(size);
            found.forEach((x, at) => {
              const expected = between(origin(at, size), mode);
              assert.ok(Math.abs(x - expected) < 1e-3, `${transformation}, ${mode} to ${size} [${at}]: ${x}, not ${expected}`); // prettier-ignore
            });
          }
        }
        const place = resizing(source, { ...common, mode: 'nearest', nearest_mode: 'floor' });
        for (const size of [1, 2, 3, 7]) {
          // Away from the whole numbers at which the factor's rounding would decide.
          const expected = Array.from({ length: size }, (_, at) => Math.floor(origin(at, size) + 1e-4)); // prettier-ignore
          const found = place(size);
          const isExact = source !== 'scales';
          expected.forEach((at, k) => {
            const held = [at, ...(isExact ? [] : [at - 1])].map((each) => row[Math.min(Math.max(each, 0), row.length - 1)]); // prettier-ignore
            assert.ok(held.includes(found[k]), `${transformation} to ${size} [${k}]: ${found[k]}`);
          });
        }
      }
    });
  }

  it('axes that keep their size are not touched, and known scales of any size stay sizes', () => {
    const bytes = model(
      {
        name: 'upsample',
        node: [node('Resize', ['x', '', 'scales'], 'y', { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' })], // prettier-ignore
        input: [value('x', ['n', 1, 'h', 'w'])],
        output: [value('y', [null, null, null, null])],
        initializer: [floats('scales', [4], [1, 1, 2, 0.5])],
      },
      { opsetImport: [{ domain: '', version: 18n }] },
    );
    const graph = fromOnnx(bytes);
    assert.equal(graph.inferTypes({})['y'].shape.join(), 'n,1,2*h,floorDiv(w, 2)');
    const x = kn.array([[[[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]]]); // prettier-ignore
    assert.deepEqual(graph.run({ x })['y'].tolist(), [[[[1, 3], [1, 3], [6, 8], [6, 8]]]]); // prettier-ignore
  });

  it('a policy for the ratio of axes holds for sizes of a run', () => {
    for (const [policy, sizes, shape] of [
      ['not_larger', [4, 9], [4, 6]],
      ['not_smaller', [4, 9], [6, 9]],
    ] as const) {
      // prettier-ignore
      const bytes = model(
        {
          name: 'policy',
          node: [node('Resize', ['x', '', '', 'to'], 'y', { mode: 'nearest', keep_aspect_ratio_policy: policy })], // prettier-ignore
          input: [value('x', ['h', 'w']), value('to', [2], 7)],
          output: [value('y', [null, null])],
        },
        { opsetImport: [{ domain: '', version: 18n }] },
      );
      const x = kn.arange(6).reshape([2, 3]);
      const to = kn.array([...sizes], { dtype: 'int64' });
      const y = fromOnnx(bytes).run({ x, to })['y'];
      assert.deepEqual(y.shape, shape);
      assert.deepEqual(y.tolist(), fromOnnx(bytes, { inputs: { x: { shape: [2, 3] }, to: { value: to } } }).run({ x })['y'].tolist()); // prettier-ignore
    }
  });

  it('antialiasing needs a scale that is known, and takes any length', () => {
    const attributes = { mode: 'linear', antialias: 1 };
    assert.throws(
      () => resizing('scales', attributes),
      /needs the value of input 2 before it runs: the scale/,
    );
    const bytes = model(
      {
        name: 'antialias',
        node: [node('Resize', ['x', '', 'scales'], 'y', attributes)],
        input: [value('x', ['n'])],
        output: [value('y', [null])],
        initializer: [floats('scales', [1], [0.5])],
      },
      { opsetImport: [{ domain: '', version: 18n }] },
    );
    const graph = fromOnnx(bytes);
    for (const length of [2, 5, 8]) {
      const x = Array.from({ length }, (_, i) => i * i - 3 * i);
      const found = graph.run({ x: kn.array(x) })['y'].tolist() as number[];
      assert.equal(found.length, Math.floor(length / 2));
      // A triangle twice as wide, of weights that add up to 1.
      found.forEach((y, at) => {
        const origin = (at + 0.5) / 0.5 - 0.5;
        let [sum, total] = [0, 0];
        for (let k = Math.floor(origin) - 4; k <= origin + 4; k++) {
          const weight = Math.max(0, 1 - Math.abs(k - origin) * 0.5);
          sum += weight * x[Math.min(Math.max(k, 0), length - 1)];
          total += weight;
        }
        assert.ok(Math.abs(y - sum / total) < 1e-5, `${y}, not ${sum / total}`);
      });
    }
  });
});
