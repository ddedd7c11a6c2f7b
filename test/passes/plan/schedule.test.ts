import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { add, flip, matmul, neg, sub, sum } from '../../../src/ops/index.js';
import type { Value } from '../../../src/ir/program.js';
import { fuse, separate } from '../../../src/passes/fuse/fuse.js';
import { planMemory } from '../../../src/passes/plan/memory.js';
import { BufferAssignment } from '../../../src/passes/groups/places.js';
import { schedule } from '../../../src/passes/plan/schedule.js';
import { programOf } from '../../support/programs.js';
import { spelledProgram } from '../../support/random-programs.js';

const matrix = { dtype: 'float32', shape: [64, 64] } as const;
const choices = fc.array(fc.tuple(fc.nat(1000), fc.nat(5), fc.nat(8), fc.nat(3)), {
  maxLength: 30,
});

test('every group runs once, after all that it reads was written', () => {
  fc.assert(
    fc.property(choices, (spelled) => {
      const program = spelledProgram('float32', [3, 5], ['exact', 'folding', 'moving'], spelled);
      for (const groups of [separate(program), fuse(program)]) {
        const order = schedule(program, groups);
        assert.deepEqual(new Set(order), new Set(groups));
        assert.equal(order.length, groups.length);
        const made = new Set<Value>();
        const written = new Set(groups.flatMap(({ writes }) => writes));
        for (const group of order) {
          for (const value of group.reads) assert.ok(!written.has(value) || made.has(value));
          for (const value of group.writes) {
            assert.ok(!made.has(value), 'a value is written twice');
            made.add(value);
          }
        }
      }
    }),
    { seed: 20261121, numRuns: 100 },
  );
});

test('what is needed soon is computed late, so that branches do not pile up', () => {
  const program = programOf({ x: matrix }, ({ x }) => {
    const branches = Array.from({ length: 8 }, (_, i) => flip(matmul(x, add(x, i)), 0));
    return { y: branches.map((branch) => sum(matmul(branch, branch))).reduce((a, b) => add(a, b)) };
  });
  const order = schedule(program, separate(program));
  const places = new BufferAssignment(program, order).all.filter(
    ({ role }) => role.kind === 'temporary',
  );
  const bytes = places.map(({ length, first, last }) => ({
    bytes: 4 * Number(length),
    first,
    last,
  }));
  assert.ok(planMemory(bytes).bytes <= 4 * 64 * 64 * 4);
});

test('a result takes the place of an operand that dies there, if both are read at the same index', () => {
  for (const [change, isShared] of [
    [(v: Value): Value => v, true],
    [(v: Value): Value => neg(flip(v, 0)), false],
  ] as const) {
    const program = programOf({ x: { dtype: 'float32', shape: [128, 128] } }, ({ x }) => {
      const a = matmul(x, x);
      const b = change(sub(a, sum(a)));
      return { y: matmul(b, x) };
    });
    const groups = schedule(program, fuse(program));
    const places = new BufferAssignment(program, groups);
    const [a, , b] = groups.map(({ writes }) => places.placeOf(writes[0]));
    assert.equal(groups.length, 4);
    assert.equal(a === b, isShared);
  }
});
