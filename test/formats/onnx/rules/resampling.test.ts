import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { model, node, value } from '../models.js';

const [images, channels, height, width] = [2, 2, 5, 6];
const pixels = Array.from({ length: images * channels * height * width }, (_, k) =>
  Math.fround(Math.sin(3 * k)),
);
const pixel = (image: number, channel: number, y: number, x: number): number =>
  pixels[((image * channels + channel) * height + y) * width + x];

/** Regions: left, top, right, bottom; one is small, one reaches outside, one lies outside. */
const regions = [
  [0.5, 0.5, 4.5, 3.5],
  [-3, -2, 7, 6.5],
  [2, 2, 2.25, 2.25],
  [9, 9, 12, 12],
] as const;
const imageOf = [0, 1, 1, 0];

interface Request {
  readonly mode: 'avg' | 'max';
  readonly rows: number;
  readonly columns: number;
  readonly ratio: number;
  readonly scale: number;
  readonly isHalfPixel: boolean;
}

/** The four corners around a point, with their weights; none of a point more than a pixel outside. */
function corners(y: number, x: number): readonly (readonly [number, number, number])[] {
  if (y < -1 || y > height || x < -1 || x > width) return [];
  const along = (at: number, size: number): readonly (readonly [number, number])[] => {
    const held = Math.min(Math.max(at, 0), size - 1);
    const low = Math.floor(held);
    return [
      [low, 1 - (held - low)],
      [Math.min(low + 1, size - 1), held - low],
    ];
  };
  return along(y, height).flatMap(([row, a]) =>
    along(x, width).map(([column, b]) => [row, column, a * b] as const),
  );
}

/** Region by region, channel by channel, bin by bin. */
function expectedOf({ mode, rows, columns, ratio, scale, isHalfPixel }: Request): number[] {
  const offset = isHalfPixel ? 0.5 : 0;
  const result: number[] = [];
  regions.forEach((region, r) => {
    const [left, top, right, bottom] = region.map((each) => each * scale - offset);
    const [down, across] = [bottom - top, right - left].map((size) =>
      isHalfPixel ? size : Math.max(size, 1),
    );
    for (let channel = 0; channel < channels; channel++) {
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
          let [sum, most] = [0, -Infinity];
          for (let i = 0; i < ratio; i++) {
            for (let j = 0; j < ratio; j++) {
              const y = top + ((row + (i + 0.5) / ratio) * down) / rows;
              const x = left + ((column + (j + 0.5) / ratio) * across) / columns;
              const parts = corners(y, x).map(
                ([a, b, weight]) => weight * pixel(imageOf[r], channel, a, b),
              );
              sum += parts.reduce((a, b) => a + b, 0);
              // Of a point outside nothing is left but zeros.
              most = Math.max(most, ...(parts.length === 0 ? [0] : parts));
            }
          }
          result.push(mode === 'avg' ? sum / ratio ** 2 : most);
        }
      }
    }
  });
  return result;
}

function run(
  { mode, rows, columns, ratio, scale, isHalfPixel }: Request,
  version: bigint,
  count: number | string = 4,
): kn.NDArray {
  const isDefault = isHalfPixel === version >= 16n;
  const bytes = model(
    {
      name: 'regions',
      node: [
        node('RoiAlign', ['x', 'boxes', 'batches'], 'y', {
          ...(mode === 'max' && { mode }),
          output_height: rows,
          output_width: columns,
          sampling_ratio: ratio,
          ...(scale !== 1 && { spatial_scale: { float: scale } }),
          ...(!isDefault && {
            coordinate_transformation_mode: isHalfPixel ? 'half_pixel' : 'output_half_pixel',
          }),
        }),
      ],
      input: [
        value('x', [images, channels, height, width]),
        value('boxes', [count, 4]),
        value('batches', [count], 7),
      ],
      output: [value('y', [])],
    },
    { opsetImport: [{ domain: '', version }] },
  );
  return fromOnnx(bytes).run({
    x: kn.array(pixels).reshape([images, channels, height, width]),
    boxes: kn.array(regions.flat()).reshape([4, 4]),
    batches: kn.array(imageOf.map(BigInt), { dtype: 'int64' }),
  }).y;
}

describe('RoiAlign of ONNX', () => {
  for (const mode of ['avg', 'max'] as const) {
    for (const isHalfPixel of [false, true]) {
      it(`${mode}, ${isHalfPixel ? 'with' : 'without'} half a pixel: the points of each bin, between pixels`, () => {
        for (const [rows, columns, ratio, scale] of [
          [1, 1, 1, 1],
          [2, 3, 2, 1],
          [3, 2, 1, 0.5],
          [1, 2, 3, 1.25],
        ] as const) {
          const request = { mode, rows, columns, ratio, scale, isHalfPixel };
          for (const count of [4, 'regions']) {
            const y = run(request, 16n, count);
            assert.deepEqual(y.shape, [4, channels, rows, columns]);
            const found = y.flatten().tolist() as number[];
            expectedOf(request).forEach((each, k) => {
              assert.ok(
                Math.abs(found[k] - each) < 1e-5,
                `${count}: ${rows} x ${columns}, ${ratio} points [${k}]: ${found[k]}, not ${each}`,
              );
            });
          }
        }
      });
    }
  }

  it('had no half a pixel before opset 16', () => {
    const request = {
      mode: 'avg',
      rows: 2,
      columns: 2,
      ratio: 1,
      scale: 1,
      isHalfPixel: false,
    } as const;
    const found = run(request, 10n).flatten().tolist() as number[];
    expectedOf(request).forEach((each, k) => assert.ok(Math.abs(found[k] - each) < 1e-5));
  });
});
