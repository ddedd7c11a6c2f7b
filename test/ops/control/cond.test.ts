import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundsOf } from '../../../src/base/dim/index.js';
import type { Value } from '../../../src/ir/program.js';
import { cond } from '../../../src/ops/index.js';
import { programOf } from '../../support/programs.js';

const vector = (length: number) => ({ dtype: 'float32', shape: [length] }) as const;

test('a size that the branch decides is between those of both', () => {
  for (const [m, n] of [[3, 5], [5, 3], [0, 4], [1, 2]]) { // prettier-ignore
    const inputs = { x: vector(m), y: vector(n) };
    const branches = [
      programOf(inputs, ({ x }) => ({ r: x })),
      programOf(inputs, ({ y }) => ({ r: y })),
    ];
    const program = programOf(
      { p: { dtype: 'bool', shape: [] }, ...inputs },
      ({ p, x, y }) => ({ r: cond<Value>(p, branches[0], branches[1], [x, y])[0] }),
    );
    const [size] = program.outputs[0].value.type.shape;
    assert.equal(typeof size, 'object');
    assert.deepEqual(boundsOf(size), { min: Math.min(m, n), max: Math.max(m, n) });
  }
}); // prettier-ignore

test('a size that both branches agree on stays what it is', () => {
  const inputs = { x: vector(4), y: vector(4) };
  const branch = programOf(inputs, ({ x }) => ({ r: x }));
  const program = programOf({ p: { dtype: 'bool', shape: [] }, ...inputs }, ({ p, x, y }) => ({
    r: cond<Value>(p, branch, branch, [x, y])[0],
  }));
  assert.deepEqual(program.outputs[0].value.type.shape, [4]);
});
