import * as kn from '../../src/index.js';

/** Images (count, 1, 8, 8) with pixels 0 to 1, and their labels (count). */
export interface Digits {
  readonly images: kn.NDArray;
  readonly labels: kn.NDArray;
}

/** Images to train with, and images that are held out for testing. */
export interface DigitSets {
  readonly train: Digits;
  readonly test: Digits;
}

/** One row in so many is held out for testing: 360 of 1,797. */
const heldOutEvery = 5;

/** Digits from text: a line for each image, with 64 pixels from 0 to 16 and the label. */
export function parseDigits(text: string): DigitSets {
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

/** The images of one epoch in batches, in a fresh order; those left over wait for another epoch. */
export function shuffledBatches({ images, labels }: Digits, batchSize: number): Digits[] {
  const rows = images.shape[0];
  const order = kn.random.permutation(rows);
  return Array.from({ length: Math.floor(rows / batchSize) }, (_, i) => {
    const picked = order.slice([i * batchSize, (i + 1) * batchSize]);
    return { images: images.take(picked, { axis: 0 }), labels: labels.take(picked, { axis: 0 }) };
  });
}
