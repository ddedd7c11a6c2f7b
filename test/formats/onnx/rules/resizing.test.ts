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
});
