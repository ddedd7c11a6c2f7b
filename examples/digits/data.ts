import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as kn from '../../src/index.js';
import { projectFile } from '../support/paths.js';

/** Images (count, 1, 8, 8) with pixels 0 to 1, and their labels (count). */
export interface Digits {
  readonly images: kn.NDArray;
  readonly labels: kn.NDArray;
}

const heldOut = 360;

/** The handwritten digits of `examples/data`: the last 360 rows are held out for testing. */
export function loadDigits(): { readonly train: Digits; readonly test: Digits } {
  const text = gunzipSync(readFileSync(projectFile('examples/data/digits.csv.gz'))).toString(
    'utf8',
  );
  const rows = text
    .trim()
    .split('\n')
    .map((line) => line.split(',').map(Number));
  const digits = (part: readonly (readonly number[])[]): Digits => ({
    images: kn.array(
      Float32Array.from(part.flatMap((row) => row.slice(0, 64).map((pixel) => pixel / 16))),
      {
        shape: [part.length, 1, 8, 8],
      },
    ),
    labels: kn.array(Int32Array.from(part.map((row) => row[64]))),
  });
  return { train: digits(rows.slice(0, -heldOut)), test: digits(rows.slice(-heldOut)) };
}
