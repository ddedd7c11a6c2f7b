import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import * as kn from '../../src/index.js';
import { projectFile } from '../support/paths.js';

/** Images (count, 1, 8, 8) with pixels 0 to 1, and their labels (count). */
export interface Digits {
  readonly images: kn.NDArray;
  readonly labels: kn.NDArray;
}

/** One row in so many is held out for testing: 360 of 1,797. */
const heldOutEvery = 5;

/** The handwritten digits of `examples/data`; every fifth row is held out for testing. */
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
  const isHeldOut = (_: unknown, i: number): boolean => i % heldOutEvery === 0;
  return {
    train: digits(rows.filter((row, i) => !isHeldOut(row, i))),
    test: digits(rows.filter(isHeldOut)),
  };
}
