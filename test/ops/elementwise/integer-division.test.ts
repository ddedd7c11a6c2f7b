import { floorDivide, fmod, mod } from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { testInIntegers } from './integer-support.js';

/* Remainders and whole quotients of float32 on devices that emulate float64. */

const random = generator(3);

/** A number of any size, or one whose significand has few bits. */
function anyNumber(least: number, most: number): number {
  const significand = random() < 0.5 ? 1 + random() : 1 + Math.floor(random() * 16) / 16;
  const size = 2 ** (least + Math.floor(random() * (most - least + 1)));
  return Math.fround(significand * size) * (random() < 0.5 ? -1 : 1);
}

/** Whole multiples and their neighbors, quotients of all lengths, and subnormal numbers. */
function operandPairs(): readonly (readonly number[])[] {
  const pairs: (readonly number[])[] = [
    [1, Math.fround(0.1)],
    [2 ** 127, 2 ** -149],
    [Math.fround(3.4028234663852886e38), Math.fround(3 * 2 ** -149)],
    [(2 ** 24 - 1) * 2 ** -149, 2 ** -149],
    [-(2 ** -149), 2 ** 127],
    [2 ** -149, -(2 ** -126)],
  ];
  for (let k = 0; k < 1500; k++) {
    const y = anyNumber(-149, 100);
    const multiple = Math.fround(y * Math.floor(2 ** (random() * 33)));
    pairs.push([anyNumber(-149, 127), y], [anyNumber(-4, 28), anyNumber(-4, 4)]);
    if (Number.isFinite(multiple)) pairs.push([multiple, y], [multiple, -y]);
    // Near the largest quotients that are exact, and where they are rounded.
    pairs.push([anyNumber(20, 33), anyNumber(-1, 1)]);
  }
  return pairs;
}

const operands = operandPairs();
testInIntegers({ label: 'fmod', apply: ([x, y]) => fmod(x, y), operands });
testInIntegers({ label: 'mod', apply: ([x, y]) => mod(x, y), operands });
testInIntegers({ label: 'floorDivide', apply: ([x, y]) => floorDivide(x, y), operands });
