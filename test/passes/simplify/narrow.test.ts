import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import type { Program } from '../../../src/ir/program.js';
import { add, cast, gather, reshape, slice, swapaxes } from '../../../src/ops/index.js';
import { narrowPositions } from '../../../src/passes/simplify/narrow.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import { elementsOf, floats, operand, programOf } from '../../support/programs.js';

/* Positions of int64 that are int32 converted, before and after: what is only used as positions stays int32. */

/** The dtypes that calls of a program read and make, by operator, in order. */
function dtypesOf(program: Program): readonly string[] {
  return [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    if (node.kind !== 'call') return [];
    const read = program.operands(id).map(({ type }) => type.dtype);
    return [`${node.op.name}(${read.join(', ')}): ${node.types.map(({ dtype }) => dtype).join()}`];
  });
}

test('positions are moved and used as int32', () => {
  for (const rows of [2, symbol('n')]) {
    const x = { dtype: 'float32', shape: [rows, 5] } as const;
    const at = { dtype: 'int32', shape: [rows, 3] } as const;
    const program = programOf({ x, at }, ({ x: from, at: positions }) => ({
      y: gather(from, swapaxes(slice(swapaxes(cast(positions, 'int64'), 0, 1), [0, 2]), 0, 1), 1),
    }));
    const narrowed = narrowPositions(program);
    assert.deepEqual(dtypesOf(narrowed), [
      'swapaxes(int32): int32',
      'slice(int32): int32',
      'swapaxes(int32): int32',
      'gather(float32, int32): float32',
    ]);
    const operands = [
      floats([2, 5], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
      operand('int32', [2, 3], [4, -1, 0, 1, 3, 2]),
    ];
    const [before, after] = [program, narrowed].map((of) => elementsOf(compile(of).run(operands)[0])); // prettier-ignore
    assert.deepEqual(before, [4, 4, 6, 8]);
    assert.deepEqual(after, before);
  }
});

test('what is given or computed with is converted, last', () => {
  const at = { dtype: 'int32', shape: [2, 3] } as const;
  const program = programOf({ at }, ({ at: positions }) => {
    const wide = reshape(cast(positions, 'int64'), [6]);
    return { given: wide, sum: add(wide, wide), narrow: cast(wide, 'float32') };
  });
  assert.deepEqual(dtypesOf(narrowPositions(program)), [
    'reshape(int32): int32',
    'cast(int32): int64',
    'add(int64, int64): int64',
    'cast(int32): float32',
  ]);
});

test('a program without such positions is given back', () => {
  const x = { dtype: 'int64', shape: [5] } as const;
  const program = programOf({ x, at: x }, ({ x: from, at }) => ({ y: gather(from, at) }));
  assert.equal(narrowPositions(program), program);
});
