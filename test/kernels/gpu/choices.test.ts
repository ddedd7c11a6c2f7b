import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { Program, type Value } from '../../../src/ir/program.js';
import { byDefinition } from '../../../src/kernels/definitions.js';
import { gpuTarget } from '../../../src/kernels/gpu/index.js';
import { wasmTarget } from '../../../src/loop/language/target.js';
import {
  attention,
  attentionGradient,
  conv,
  convTranspose,
  matmul,
  swapaxes,
} from '../../../src/ops/index.js';
import type { KernelChoice, KernelTuning } from '../../../src/ops/tuning.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf, sizeOf } from '../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../support/gpu-programs.js';
import { operand } from '../../support/programs.js';
import { generator } from '../../support/samples.js';

/* All candidates of kernels that a measurement chooses from compute what the definition of the operator says. */

type Extents = readonly (number | 'any')[];

interface Case {
  readonly name: string;
  readonly shapes: readonly Extents[];
  /** Sizes of the operands; those of `shapes` by default. */
  readonly sizes?: readonly (readonly number[])[];
  readonly dtype?: DType;
  readonly of: (...operands: readonly Value[]) => Value;
  /** The question that is looked at. */
  readonly kernel: string;
  /** Part of the largest element of the result by which candidates may differ. Default 0: sums of small integers are exact. */
  readonly margin?: number;
}

/** The gradient of one operand of attention; operands are q, k, v and that of the result. */
function gradient(operand: 'q' | 'k' | 'v'): (...operands: readonly Value[]) => Value {
  return (q, k, v, g) =>
    attentionGradient(q, k, v, g, null, { causal: true, scale: 0.25 })[operand];
}

const gradientShapes = [
  [1, 38, 12],
  [1, 70, 12],
  [1, 70, 8],
  [1, 38, 8],
];

const cases: readonly Case[] = [
  { name: 'a product', shapes: [[40, 24], [24, 36]], of: (x, y) => matmul(x, y), kernel: 'matmul tile' },
  { name: 'a product whose sizes are no multiples', shapes: [[33, 21], [21, 19]], of: (x, y) => matmul(x, y), kernel: 'matmul tile' },
  { name: 'a large product', shapes: [[65, 12], [12, 72]], of: (x, y) => matmul(x, y), kernel: 'matmul tile' },
  { name: 'a long sum', shapes: [[9, 1100], [1100, 33]], of: (x, y) => matmul(x, y), kernel: 'matmul tile' },
  { name: 'a batch of turned operands', shapes: [[3, 18, 35], [3, 20, 18]], of: (x, y) => matmul(swapaxes(x, 1, 2), swapaxes(y, 1, 2)), kernel: 'matmul tile' },
  { name: 'integers', shapes: [[33, 17], [17, 20]], dtype: 'int32', of: (x, y) => matmul(x, y), kernel: 'matmul tile' },
  { name: 'rows known at run time only', shapes: [['any', 24], [24, 20]], sizes: [[19, 24], [24, 20]], of: (x, y) => matmul(x, y), kernel: 'matmul tile' },
  { name: 'few rows', shapes: [[2, 300], [300, 36]], of: (x, y) => matmul(x, y), kernel: 'matmul few' },
  { name: 'few columns', shapes: [[36, 300], [300, 3]], of: (x, y) => matmul(x, y), kernel: 'matmul few' },
  { name: 'a single result', shapes: [[1, 700], [700, 1]], of: (x, y) => matmul(x, y), kernel: 'matmul few' },
  { name: 'a split sum', shapes: [[2, 4096], [4096, 3]], of: (x, y) => matmul(x, y), kernel: 'matmul split' },
  { name: 'a convolution', shapes: [[2, 3, 9, 8], [20, 3, 3, 2]], of: (x, w) => conv(x, w, { padding: [1, 1], strides: [2, 1] }), kernel: 'conv tile' },
  { name: 'a transposed convolution', shapes: [[2, 6, 5, 4], [6, 9, 3, 3]], of: (x, w) => convTranspose(x, w, { strides: [2, 2] }), kernel: 'convTranspose tile' },
  { name: 'attention', shapes: [[2, 20, 8], [2, 37, 8], [2, 37, 4]], of: (q, k, v) => attention(q, k, v, { causal: true }), kernel: 'attention rows', margin: 2 ** -18 },
  { name: 'attention of many queries', shapes: [[1, 70, 12], [1, 37, 12], [1, 37, 40]], of: (q, k, v) => attention(q, k, v), kernel: 'attention rows', margin: 2 ** -18 },
  { name: 'statistics of attention', shapes: gradientShapes, of: gradient('q'), kernel: 'attentionStatistics rows', margin: 2 ** -18 },
  { name: 'the gradient of queries', shapes: gradientShapes, of: gradient('q'), kernel: 'attentionQueryGradient rows', margin: 2 ** -18 },
  { name: 'the gradient of keys', shapes: gradientShapes, of: gradient('k'), kernel: 'attentionKeyGradient rows', margin: 2 ** -18 },
  { name: 'the gradient of values', shapes: gradientShapes, of: gradient('v'), kernel: 'attentionKeyGradient rows', margin: 2 ** -18 },
]; // prettier-ignore

function programOf({ shapes, dtype = 'float32', of }: Case): Program {
  const program = new Program();
  let count = 0;
  const operands = shapes.map((extents, k) => {
    const shape = extents.map((extent) => (extent === 'any' ? symbol(`s${count++}`) : extent));
    return program.variable(`x${k}`, { dtype, shape });
  });
  program.setOutputs([{ name: 'y', value: of(...operands) }]);
  return program;
}

const random = generator(23);

function operandsOf({ shapes, sizes = shapes as Case['sizes'], dtype = 'float32' }: Case): readonly Operand[] {
  const element = (): number => Math.floor(random() * 7) - 3;
  return sizes!.map((shape) => operand(dtype, shape, Array.from({ length: sizeOf(shape) }, element)));
} // prettier-ignore

/** Takes the candidate of a number for one question, and the first one for others. */
class Numbered implements KernelTuning {
  readonly #kernel: string;
  readonly #number: number;
  readonly asked: KernelChoice<unknown>[] = [];

  constructor(kernel: string, number: number) {
    this.#kernel = kernel;
    this.#number = number;
  }

  choose<C>(choice: KernelChoice<C>): C {
    const candidates = [...choice.candidates.values()];
    if (choice.kernel !== this.#kernel) return candidates[0];
    this.asked.push(choice);
    return candidates[this.#number % candidates.length];
  }
}

describe('candidates of kernels', () => {
  for (const given of cases) {
    it(`of ${given.name}`, async () => {
      const operands = operandsOf(given);
      const run = async (target: typeof gpuTarget, seed: number): Promise<number[]> =>
        numbersOf((await new ProgramsOnGrid(seed, target).run(programOf(given), operands))[0]);
      const expected = await run(byDefinition(wasmTarget), 0);
      const largest = Math.max(...expected.map(Math.abs));
      const texts = new Set<string>();
      let count = Infinity;
      for (let number = 0; number < count; number++) {
        const tuning = new Numbered(given.kernel, number);
        const target = { ...gpuTarget, tuning };
        texts.add(JSON.stringify(gpuKernelsOf(programOf(given), target)));
        assert.ok(tuning.asked.length > 0, 'nothing was asked');
        const [{ candidates, call }] = tuning.asked;
        count = candidates.size;
        assert.equal(call() === null, given.sizes !== undefined);
        const found = await run(target, number);
        const name = [...candidates.keys()][number];
        found.forEach((element, at) => {
          const difference = Math.abs(element - expected[at]);
          assert.ok(difference <= (given.margin ?? 0) * largest, `${name}: ${element}, not ${expected[at]}`); // prettier-ignore
        });
      }
      // Candidates are different kernels.
      assert.equal(texts.size, count);
      assert.ok(count >= 2);
    });
  }

  it('are the usual ones where nothing was measured', () => {
    for (const given of cases) {
      const [plain, first] = [gpuTarget, { ...gpuTarget, tuning: new Numbered('', 0) }].map(
        (target) => JSON.stringify(gpuKernelsOf(programOf(given), target)),
      );
      assert.equal(first, plain);
    }
  });
});
