import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { c99, type Dialect, gnu, moduleToC } from '../../../src/codegen/c/index.js';
import { moduleOf } from '../../../src/loop/language/build.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { optimize } from '../../../src/loop/optimize/optimize.js';
import { randomKernel } from '../../loop/random-kernel.js';
import { contentsAfter, contentsOf, startingMemory } from '../../loop/running.js';
import { compileAndRun, compilers } from './compiler.js';

const count = 40;
const sizes = [[0, 3], [1, 0], [5, 9], [8, 4]] as const; // prettier-ignore

/** Kernels as they are written and as the printers get them, under names of their own. */
const kernels: readonly Kernel[] = fc
  .sample(fc.array(fc.nat(2 ** 16), { maxLength: 120 }), { seed: 11, numRuns: count })
  .flatMap((entropy, i) => {
    const kernel = randomKernel(entropy);
    return [kernel, ...[16, 64].map((vectorBytes) => optimize(kernel, { vectorBytes }))].map(
      (each, k) => ({
        ...each,
        name: `random_${i}_${k}`,
      }),
    );
  });

/** A program that runs every kernel for all sizes on what it reads, and writes what each leaves. */
function programOf(dialect: Dialect): string {
  const { source, nameOf } = moduleToC(moduleOf(kernels), dialect);
  const { memory, addresses } = startingMemory();
  const runs = kernels.flatMap((kernel) =>
    sizes.map((size) => {
      const args = ['memory', ...addresses, ...size].join(', ');
      return `  memcpy(memory, start, sizeof start); ${nameOf(kernel)}(${args}); fwrite(memory, 1, sizeof memory, stdout);`;
    }),
  );
  return `#include <stdio.h>
${source}
static uint8_t start[${memory.byteLength}], memory[${memory.byteLength}];
int main(void) {
  if (fread(start, 1, sizeof start, stdin) != sizeof start) return 1;
${runs.join('\n')}
  return 0;
}
`;
}

const strict = ['-std=c99', '-O1', '-ffp-contract=off', '-Wall', '-Wextra', '-pedantic', '-Werror'];
const unused = ['-Wno-unused-function', '-Wno-unused-variable', '-Wno-unused-parameter'];
const ways: readonly {
  readonly name: string;
  readonly dialect: Dialect;
  readonly flags: readonly string[];
}[] = [
  { name: 'C99', dialect: c99, flags: [...strict, ...unused] },
  { name: 'vectors', dialect: gnu, flags: ['-O2', '-ffp-contract=off', '-march=native'] },
  {
    name: 'C99 under sanitizers',
    dialect: c99,
    flags: ['-std=c99', '-O1', '-ffp-contract=off', '-fsanitize=undefined,address', '-fno-sanitize-recover=all'], // prettier-ignore
  },
];

describe('random kernels as C', () => {
  for (const compiler of compilers) {
    for (const { name, dialect, flags } of ways) {
      it(`${compiler}, ${name}: compute what the interpreter defines`, () => {
        const { memory } = startingMemory();
        const output = compileAndRun(compiler, programOf(dialect), flags, new Uint8Array(memory));
        let at = output.byteOffset;
        for (const kernel of kernels) {
          for (const [n, m] of sizes) {
            const found = output.buffer.slice(at, (at += memory.byteLength)) as ArrayBuffer;
            const expected = contentsAfter(kernel, n, m);
            assert.deepEqual(contentsOf(found), expected, `${kernel.name}(${n}, ${m})`);
          }
        }
      });
    }
  }

  it('need a compiler to be tried', (test) => {
    if (compilers.length === 0) test.skip('there is no C compiler here');
    assert.ok(kernels.length === 3 * count);
  });
});
