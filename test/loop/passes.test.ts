import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { separateBindings } from '../../src/loop/analysis/bindings.js';
import { moduleOf } from '../../src/loop/language/build.js';
import type { Kernel } from '../../src/loop/language/nodes.js';
import { kernelPasses, optimize } from '../../src/loop/optimize/optimize.js';
import { parseKernel } from '../../src/loop/language/parse.js';
import { kernelText, moduleText } from '../../src/loop/language/text.js';
import { verifyKernel, verifyModule } from '../../src/loop/language/verify.js';
import { randomKernel } from './random-kernel.js';
import { contentsAfter } from './running.js';

const entropy = fc.array(fc.nat({ max: 10_000 }), { minLength: 20, maxLength: 400, size: 'max' });
const size = fc.nat({ max: 9 });
const passes: readonly { readonly name: string; readonly run: (kernel: Kernel) => Kernel }[] = [
  { name: 'separateBindings', run: separateBindings },
  ...kernelPasses
    .filter(({ afterChange }) => afterChange !== true)
    .map(({ name, run }) => ({
      name,
      run: (kernel: Kernel): Kernel => run(kernel, { vectorBytes: 16 }),
    })),
  { name: 'optimize for 16 bytes', run: (kernel) => optimize(kernel, { vectorBytes: 16 }) },
  { name: 'optimize for 32 bytes', run: (kernel) => optimize(kernel, { vectorBytes: 32 }) },
  { name: 'text and back', run: (kernel) => parseKernel(kernelText(kernel)) },
];

describe('every pass keeps what a random kernel computes', () => {
  for (const { name, run } of passes) {
    it(name, () => {
      fc.assert(
        fc.property(entropy, size, size, (choices, n, m) => {
          const before = randomKernel(choices);
          verifyKernel(before);
          const after = run(before);
          verifyModule(moduleOf([after]));
          const [wanted, actual] = [contentsAfter(before, n, m), contentsAfter(after, n, m)];
          const wrong = wanted.findIndex((value, at) => !Object.is(value, actual[at]));
          assert.equal(wrong, -1, `${kernelText(before)}became\n${kernelText(after)}`);
        }),
        { seed: 20261121, numRuns: 80 },
      );
    });
  }

  it('optimized text parses back to the same text', () => {
    fc.assert(
      fc.property(entropy, (choices) => {
        const text = moduleText(moduleOf([optimize(randomKernel(choices), { vectorBytes: 16 })]));
        assert.equal(kernelText(parseKernel(text)), text);
      }),
      { seed: 20261121, numRuns: 80 },
    );
  });
});
