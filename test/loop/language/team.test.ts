import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import * as e from '../../../src/loop/language/build.js';
import { interpret } from '../../../src/loop/interpret/interpret.js';
import type { Stmt } from '../../../src/loop/language/nodes.js';
import { alone, type LoopRange, overRange, shareOf } from '../../../src/loop/language/team.js';

/** Where the share of each thread begins and ends. */
function shares(
  begin: number,
  end: number,
  step: number,
  threads: number,
): readonly (readonly [number, number])[] {
  const out = e.buffer('out', 'i32');
  const params = ['thread', 'threads', 'from', 'to'].map((name) => e.variable(name, 'i32'));
  const [index, count, from, to] = params;
  const share = shareOf({ index, count }, from, to, step);
  const body = e.block(e.store(out, 0, share.begin), e.store(out, 1, share.end));
  const module = e.moduleOf([e.kernel('share', [out, ...params], body)]);
  const memory = new ArrayBuffer(8);
  return Array.from({ length: threads }, (_, thread) => {
    interpret(module, memory, 'share', [0, thread, threads, begin, end]);
    const [first, last] = new Int32Array(memory);
    return [first, last] as const;
  });
}

describe('shareOf', () => {
  it('gives every index to one thread, in whole steps, and none more than a step too much', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -50, max: 50 }),
        fc.integer({ min: 0, max: 1000 }),
        fc.integer({ min: 1, max: 70 }),
        fc.integer({ min: 1, max: 9 }),
        (begin, length, step, threads) => {
          const end = begin + length;
          const all = shares(begin, end, step, threads);
          let at = begin;
          for (const [from, to] of all) {
            assert.ok(from <= to);
            if (from === to) continue; // nothing left for it
            assert.equal(from, at);
            assert.equal((from - begin) % step, 0);
            at = to;
          }
          assert.equal(at, end);
          const steps = all.map(([from, to]) => Math.ceil(Math.max(0, to - from) / step));
          assert.ok(Math.max(...steps) - Math.min(...steps) <= 1, steps.join());
        },
      ),
      { seed: 1, numRuns: 500 },
    );
  });

  it('does not overflow where there are as many indices as an i32 counts', () => {
    const most = 2 ** 31 - 1;
    const all = shares(0, most, 1, 7);
    assert.equal(all[0][0], 0);
    assert.equal(all[6][1], most);
    for (let thread = 1; thread < 7; thread++) assert.equal(all[thread][0], all[thread - 1][1]);
  });

  it('leaves everything to one who is alone', () => {
    const [begin, end] = [e.i32(3), e.variable('end', 'i32')];
    assert.deepEqual(shareOf(alone, begin, end, 4), { begin, end });
  });
});

describe('overRange', () => {
  const out = e.buffer('out', 'i32');
  const whole = { begin: e.i32(1), end: e.i32(8) };

  it('divides a range that is to be divided, and gives all of another', () => {
    let given: unknown;
    const body = (range: LoopRange): Stmt => {
      given = range;
      return e.store(out, 0, e.i32(1));
    };
    assert.equal(overRange(false, whole, 2, body).kind, 'store');
    assert.deepEqual(given, whole);
    const divided = overRange(true, whole, 2, body);
    assert.ok(divided.kind === 'parallel');
    assert.deepEqual([divided.begin, divided.end, divided.step], [whole.begin, whole.end, 2]);
    assert.notDeepEqual(given, whole);
  });
});
