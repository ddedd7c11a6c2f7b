import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { attentionGradient } from '../../../../src/ops/index.js';
import { numbersOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { type AttentionCase, operandsOf, uniform, weightsOf } from './cases.js';

/* The gradient of attention by tiles against the formula in double precision. */

/** A sum with the sum of the magnitudes of its terms, relative to which it is rounded. */
class Sum {
  value = 0;
  magnitude = 0;

  add(term: number, magnitude: number = Math.abs(term)): void {
    this.value += term;
    this.magnitude += magnitude;
  }
}

function sums(length: number): readonly Sum[] {
  return Array.from({ length }, () => new Sum());
}

/** The gradients of queries, keys and values. */
function expectedOf(
  given: AttentionCase,
  numbers: readonly (readonly number[])[],
  g: readonly number[],
): readonly (readonly Sum[])[] {
  const { heads, queries, keys, size, channels } = given;
  const [q, k, v] = numbers;
  const [toQ, toK, toV] = [q, k, v].map(({ length }) => sums(length));
  for (let head = 0; head < heads; head++) {
    for (let query = 0; query < queries; query++) {
      const row = head * queries + query;
      const weights = weightsOf(given, numbers, head, query);
      const slopes = sums(keys);
      const mean = new Sum();
      for (let key = 0; key < keys; key++) {
        for (let c = 0; c < channels; c++) {
          slopes[key].add(g[row * channels + c] * v[(head * keys + key) * channels + c]);
          toV[(head * keys + key) * channels + c].add(weights[key] * g[row * channels + c]);
        }
        mean.add(weights[key] * slopes[key].value, weights[key] * slopes[key].magnitude);
      }
      for (let key = 0; key < keys; key++) {
        const slope = (weights[key] * (slopes[key].value - mean.value)) / Math.sqrt(size);
        const magnitude = (weights[key] * (slopes[key].magnitude + mean.magnitude)) / Math.sqrt(size); // prettier-ignore
        for (let d = 0; d < size; d++) {
          const [own, other] = [row * size + d, (head * keys + key) * size + d];
          toQ[own].add(slope * k[other], magnitude * Math.abs(k[other]));
          toK[other].add(slope * q[own], magnitude * Math.abs(q[own]));
        }
      }
    }
  }
  return [toQ, toK, toV];
}

/** `isOpen`: widths, or lengths, are not known. */
type OpenCase = AttentionCase & { readonly isOpen?: 'widths' | 'lengths' };

for (const given of [
  { heads: 2, queries: 20, keys: 37, size: 8, channels: 5 },
  { heads: 1, queries: 35, keys: 35, size: 16, channels: 16, causal: true },
  { heads: 2, queries: 17, keys: 16, size: 4, channels: 20, mask: 'bool' },
  { heads: 1, queries: 9, keys: 33, size: 3, channels: 64, mask: 'float32', causal: true },
  { heads: 1, queries: 11, keys: 9, size: 100, channels: 100 },
  { heads: 1, queries: 1030, keys: 2, size: 2, channels: 3 },
  { heads: 1, queries: 2, keys: 1100, size: 2, channels: 3 },
  { heads: 1, queries: 9, keys: 17, size: 256, channels: 192, causal: true },
  { heads: 1, queries: 5, keys: 9, size: 20, channels: 772 },
  { heads: 2, queries: 1, keys: 12, size: 8, channels: 1 },
  { heads: 2, queries: 5, keys: 1, size: 1, channels: 8, mask: 'float32' },
  { heads: 1, queries: 8, keys: 9, size: 200, channels: 40, mask: 'float32' },
  { heads: 1, queries: 8, keys: 9, size: 20, channels: 4, mask: 'bool', isOpen: 'widths' },
  { heads: 1, queries: 33, keys: 19, size: 5, channels: 4, causal: true, isOpen: 'lengths' },
  { heads: 2, queries: 9, keys: 20, size: 8, channels: 8, mask: 'float32', isOpen: 'lengths' },
] satisfies readonly OpenCase[] as readonly OpenCase[]) {
  test(`the gradient of attention of ${JSON.stringify(given)}`, async () => {
    const { heads, queries, channels, causal = false } = given;
    const [q, k, v, ...masks] = operandsOf(given);
    const g = uniform([heads, queries, channels]);
    const operands = [q, k, v, g, ...masks];
    const program = new Program();
    const [size, width, rows, columns] = ['size', 'channels', 'queries', 'keys'].map((name) =>
      symbol(name),
    );
    const [widths, lengths] = [
      [size, size, width, width],
      [rows, columns, columns, rows],
    ];
    const shapeOf = (shape: readonly number[], i: number): readonly Dim[] => {
      if (given.isOpen === undefined || (i === 4 && given.isOpen === 'widths')) return shape;
      if (i === 4) return [rows, columns];
      return given.isOpen === 'widths' ? [...shape.slice(0, -1), widths[i]] : [...shape.slice(0, -2), lengths[i], shape.at(-1)!];
    }; // prettier-ignore
    const [a, b, c, upward, mask]: readonly Value[] = operands.map(({ storage: { dtype }, shape }, i) => program.variable(`x${i}`, { dtype, shape: shapeOf(shape, i) })); // prettier-ignore
    const gradients = attentionGradient(a, b, c, upward, mask ?? null, { causal, scale: null });
    program.setOutputs(
      [gradients.q, gradients.k, gradients.v].map((value, i) => ({ name: `y${i}`, value })),
    );
    const kernels = gpuKernelsOf(program).map(({ body }) => workgroupsIn(body).length);
    // Heads that are too wide for the memory of a workgroup are products, and what is between them.
    if (given.isOpen !== 'widths' && given.channels <= 768) assert.deepEqual(kernels, [1, 1, 1]);
    else assert.ok(kernels.length <= 9 && kernels.filter((count) => count > 0).length >= 5, kernels.join()); // prettier-ignore
    const found = await new ProgramsOnGrid(queries).run(program, operands);
    const numbers = [q, k, v, ...masks].map(numbersOf);
    expectedOf(given, numbers, numbersOf(g)).forEach((expected, i) => {
      numbersOf(found[i]).forEach((value, at) => {
        const { value: exact, magnitude } = expected[at];
        // Scores are rounded a few times, relative to their greatest terms; sums some 40 times.
        const margin = magnitude * 200 * 2 ** -24;
        assert.ok(Math.abs(value - exact) <= margin, `${i} ${at}: ${value}, not ${exact}`);
      });
    });
  });
}
