import { digamma, lgamma, polygamma } from '../../../src/ops/elementwise/index.js';
import { generator } from '../../support/samples.js';
import { settings } from '../../support/settings.js';
import { testInIntegers } from './integer-support.js';

/* The gamma functions of float32 on devices that emulate float64. */

const random = generator(10);
const neighbor = (x: number): number => Math.fround(x * (1 + (Math.floor(random() * 9) - 4) * 2 ** -23)); // prettier-ignore

const count = settings.isLong ? 200 : 6;

/** Numbers around roots, poles, middles between poles, powers of two, and of all sizes. */
function numbers(): readonly number[] {
  const list: number[] = [];
  const marks = [1, 2, 1.46163214, 0.5, 4, 7, 8, -7, -8, -0.25, -0.75, -2.4570247, -2.7476826];
  for (let k = 0; k < count; k++) {
    for (const mark of marks) list.push(neighbor(mark), mark * (1 + 2 ** -(4 + random() * 19)));
    for (const whole of [k, k + 0.5, k + 0.25, k / 4 + 7, 2 ** (k / 2)])
      list.push(-neighbor(whole));
    list.push(-(k + 2 ** -(random() * 22)), -(k + 0.5 + 2 ** -(random() * 22)));
  }
  for (let k = 0; k < 20 * count; k++) {
    list.push(
      random() * 8,
      -random() * 9,
      2 ** (random() * 277 - 149),
      -(2 ** (random() * 173 - 149)),
    );
  }
  return list.map(Math.fround);
}

const operands = numbers().map((x) => [x]);
testInIntegers({ label: 'lgamma', apply: ([x]) => lgamma(x), operands });
testInIntegers({ label: 'digamma', apply: ([x]) => digamma(x), operands });
for (const order of [1, 2, 5]) {
  testInIntegers({
    label: `polygamma(order: ${order})`,
    apply: ([x]) => polygamma(order, x),
    operands,
  });
}
