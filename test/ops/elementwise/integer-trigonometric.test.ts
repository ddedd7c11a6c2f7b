import { cos, sin, sinc, tan } from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { testInIntegers } from './integer-support.js';

/* Trigonometric functions of float32 on devices that emulate float64. */

const next = (x: number, steps: number): number => {
  const bits = new Int32Array(new Float32Array([x]).buffer);
  bits[0] += steps;
  return new Float32Array(bits.buffer)[0];
};

/** Numbers around multiples of pi / 4 and of halves, of all sizes, and the f32 that is nearest to a multiple of pi / 2. */
function adversaries(): readonly number[] {
  const random = generator(8);
  const near: number[] = [1e10, 2 ** 127, 16367173 * 2 ** 72, 2 ** -12, 2 ** -13, 2 ** 23, 2 ** 24];
  for (let k = 1; k <= 24; k++) near.push((k * Math.PI) / 4, k / 2, k / 4);
  for (let k = 0; k < 200; k++) {
    const turns = Math.floor(2 ** (random() * 22));
    near.push((turns * Math.PI) / 2, turns + 0.5, turns / 4);
  }
  const found = near.flatMap((x) => [-1, 0, 1].map((steps) => next(Math.fround(x), steps)));
  return [...found, ...found.map((x) => -x)];
}

const random = generator(6);
const small = Array.from({ length: 1500 }, () => Math.fround((random() - 0.5) * 8));
const operands = [...adversaries(), ...small].map((x) => [x]);

// Half an ulp and one unit of 32 digits, of which an ulp has 256.
testInIntegers({ label: 'sin', apply: ([x]) => sin(x), operands, bound: 0.506 });
testInIntegers({ label: 'cos', apply: ([x]) => cos(x), operands, bound: 0.506 });
testInIntegers({ label: 'tan', apply: ([x]) => tan(x), operands });
testInIntegers({ label: 'sinc', apply: ([x]) => sinc(x), operands });
