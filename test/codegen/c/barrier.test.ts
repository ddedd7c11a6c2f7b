import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { c99, gnu, moduleToC } from '../../../src/codegen/c/index.js';
import { meeting } from '../../../src/loop/language/team.js';
import { cells, meetings, rounds } from '../../loop/meetings.js';
import { compileAndRun, compilers } from './compiler.js';

const module = meetings();
const words = cells.wrong + 16;

/** A program that starts threads on the kernel and writes the memory that they leave. */
function programOf(threads: number): string {
  const { source, nameOf } = moduleToC(module, gnu);
  const at = [cells.meeting, cells.written, cells.wrong].map((word) => 4 * word).join(', ');
  return `#include <pthread.h>
#include <stdio.h>
${source}
static _Alignas(64) int32_t memory[${words}];
static void *run(void *thread) {
  ${nameOf(module.kernels[0])}((uint8_t *)memory, ${at}, (int32_t)(intptr_t)thread, ${threads});
  return NULL;
}
int main(void) {
  pthread_t made[${threads}];
  for (intptr_t i = 0; i < ${threads}; i++) pthread_create(&made[i], NULL, run, (void *)i);
  for (int i = 0; i < ${threads}; i++) pthread_join(made[i], NULL);
  fwrite(memory, 1, sizeof memory, stdout);
  return 0;
}
`;
}

describe('barriers in C', () => {
  for (const compiler of compilers) {
    it(`hold three threads together, by ${compiler}`, () => {
      const left = compileAndRun(compiler, programOf(3), ['-O2', '-pthread'], new Uint8Array(0));
      const memory = new Int32Array(new Uint8Array(left).buffer);
      assert.equal(memory[meeting.passed], 2 * rounds);
      assert.equal(memory[meeting.arrived], 0);
      for (let thread = 0; thread < 3; thread++) {
        assert.equal(memory[cells.written + thread], rounds);
        assert.equal(memory[cells.wrong + thread], 0, 'each saw what the others had written');
      }
    });
  }

  it('are left out of what is for one thread', () => {
    assert.doesNotMatch(moduleToC(module, c99).source, /barrier/);
  });
});
