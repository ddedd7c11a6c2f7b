import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import * as e from '../../../src/loop/language/build.js';
import type { Kernel } from '../../../src/loop/language/nodes.js';
import { parseKernel } from '../../../src/loop/language/parse.js';
import { alone, stretchOf } from '../../../src/loop/language/team.js';
import { rangesIn } from '../../../src/loop/language/verify-ranges.js';
import { divide } from '../../../src/loop/optimize/divide.js';

/** Sums of neighbors, then their squares in a second range, which meets other places than the first. */
const kernel = parseKernel(`
  kernel sums(squares: i32[], sums: i32[], x: i32[], own: private i32[], n: i32) {
    for i in 0..n + 1 {
      own[i] = x[i] * 3
    }
    for j in 0..2 {
      parallel from..to in 0..n step 3 {
        for i in from..to {
          sums[i * 2 + j] = own[i] + x[i + 1]
        }
      }
    }
    parallel from..to in 0..n {
      for i in from..to {
        squares[i] = own[i] * own[i]
      }
    }
  }
`);

const most = 40;
const bytes = 4 * most * 5;
const addresses = [0, 1, 3, 4].map((place) => 4 * most * place);

function filled(n: number): Int32Array {
  return new Int32Array(bytes / 4).map((_, at) => (at * 7919) % (n + 11));
}

function expected(n: number): Int32Array {
  const memory = filled(n);
  const x = memory.slice(3 * most);
  for (let i = 0; i < n; i++) {
    for (const j of [0, 1]) memory[most + i * 2 + j] = x[i] * 3 + x[i + 1];
    memory[i] = (x[i] * 3) ** 2;
  }
  return memory.slice(0, 4 * most);
}

function dividedKernel(): Kernel {
  const [index, count] = ['thread', 'threads'].map((name) => e.variable(name, 'i32'));
  const body = divide(kernel.body, { index, count });
  return e.kernel('sums', [...kernel.params, index, count], body);
}

const cases: fc.Arbitrary<{ n: number; order: number[] }> = fc.record({
  n: fc.integer({ min: 0, max: most / 2 - 1 }),
  order: fc
    .integer({ min: 1, max: 7 })
    .chain((count) => fc.shuffledSubarray([...Array(count).keys()], { minLength: count })),
});

describe('divide', () => {
  it('leaves to each thread what the interpreter runs of ranges as that member, in any order', () => {
    const threads = e.moduleOf([dividedKernel()]);
    assert.equal(rangesIn(threads.kernels[0].body).length, 0);
    const ranges = e.moduleOf([kernel]);
    fc.assert(
      fc.property(cases, ({ n, order }) => {
        const [byThread, byMember] = [filled(n), filled(n)];
        const count = order.length;
        for (const index of order) {
          interpret(threads, byThread.buffer, 'sums', [...addresses, n, index, count]);
          interpret(ranges, byMember.buffer, 'sums', [...addresses, n], { index, count });
        }
        assert.deepEqual(byMember.slice(0, 4 * most), expected(n));
        assert.deepEqual(byThread, byMember);
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it('gives one thread everything', () => {
    const body = divide(kernel.body, alone);
    const memory = filled(9);
    interpret(e.moduleOf([e.kernel('sums', kernel.params, body)]), memory.buffer, 'sums', [
      ...addresses,
      9,
    ]);
    assert.deepEqual(memory.slice(0, 4 * most), expected(9));
  });

  it('cuts ranges into whole steps, of which no member has more than one too many', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -50, max: 50 }),
        fc.integer({ min: 0, max: 500 }),
        fc.integer({ min: 1, max: 70 }),
        fc.integer({ min: 1, max: 9 }),
        (begin, length, step, count) => {
          const end = begin + length;
          const members = [...Array(count).keys()];
          const stretches = members.map((index) => stretchOf({ begin, end }, step, { index, count })); // prettier-ignore
          let at = begin;
          for (const [from, to] of stretches) {
            if (from === to) continue;
            assert.equal(from, at);
            assert.equal((from - begin) % step, 0);
            at = to;
          }
          assert.equal(at, end);
          const steps = stretches.map(([from, to]) => Math.ceil((to - from) / step));
          assert.ok(Math.max(...steps) - Math.min(...steps) <= 1);
        },
      ),
      { seed: 1, numRuns: 300 },
    );
  });
});
