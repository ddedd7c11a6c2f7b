import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Program, type Value } from '../../../../src/ir/program.js';
import { visitExprs, visitStmts, ownExprs } from '../../../../src/loop/language/visit.js';
import { add, matmul, swapaxes } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { generator } from '../../../support/samples.js';

/* Products of few rows or columns: right in each layout, and read by vectors where neighbors are evident. */

/** Names of operands that are stored with their axes the other way round. */
type Turned = '' | 'x' | 'y' | 'xy';

/** `x y + z` for `[m, k]`, `[k, n]` and `[n]`. */
function program(m: number, k: number, n: number, turned: Turned): Program {
  const made = new Program();
  const variable = (name: string, shape: readonly number[]): Value =>
    made.variable(name, { dtype: 'float32', shape });
  const side = (name: 'x' | 'y', [rows, columns]: readonly [number, number]): Value =>
    turned.includes(name)
      ? swapaxes(variable(name, [columns, rows]), 0, 1)
      : variable(name, [rows, columns]);
  const value = add(matmul(side('x', [m, k]), side('y', [k, n])), variable('z', [n]));
  made.setOutputs([{ name: 'out', value }]);
  return made;
}

const random = generator(8);

/** Whole numbers, whose sums are exact. */
function whole(shape: readonly number[]): Operand {
  const elements = Float32Array.from({ length: sizeOf(shape) }, () => Math.floor(random() * 9) - 4);
  return { storage: new Storage('float32', elements), shape };
}

/** Lanes of the loads of both operands of a product. */
function lanesOf(m: number, k: number, n: number, turned: Turned): readonly number[] {
  const [{ params, body }, ...others] = gpuKernelsOf(program(m, k, n, turned));
  assert.equal(others.length, 0);
  const lanes = new Map<unknown, number>();
  visitStmts(body, (stmt) =>
    visitExprs(ownExprs(stmt), (expr) => {
      if (expr.kind === 'load') lanes.set(expr.buffer, expr.type.lanes);
    }),
  );
  return params.flatMap((param) => lanes.get(param) ?? []).slice(0, 2);
}

describe('products of few rows or columns', () => {
  it('are right in all layouts, with and without vectors', async () => {
    const grid = new ProgramsOnGrid(5);
    for (const [m, k, n] of [
      [1, 32, 64],
      [1, 128, 36],
      [2, 516, 12],
      [4, 130, 8],
      [3, 512, 7],
      [64, 33, 1],
      [36, 128, 4],
      [12, 64, 3],
      [1, 260, 1],
    ] as const) {
      for (const turned of ['', 'x', 'y', 'xy'] as const) {
        const shape = (
          name: 'x' | 'y',
          [rows, columns]: readonly [number, number],
        ): readonly number[] => (turned.includes(name) ? [columns, rows] : [rows, columns]);
        const operands = [whole(shape('x', [m, k])), whole(shape('y', [k, n])), whole([n])];
        const [found] = await grid.run(program(m, k, n, turned), operands);
        const [x, y, z] = operands.map(numbersOf);
        const expected = Array.from({ length: m * n }, (_, at) => {
          const [i, j] = [Math.floor(at / n), at % n];
          let sum = z[j];
          for (let step = 0; step < k; step++) {
            const left = turned.includes('x') ? x[step * m + i] : x[i * k + step];
            sum += left * (turned.includes('y') ? y[j * k + step] : y[step * n + j]);
          }
          return sum;
        });
        assert.deepEqual(numbersOf(found), expected, `${m} ${k} ${n}, turned: ${turned}`);
      }
    }
    assert.equal(grid.backend.launchesOfWorkgroups, 36);
  });

  it('read four neighbors of the larger operand at once', () => {
    // One term of four results, and four terms of one.
    assert.deepEqual(lanesOf(1, 256, 64, ''), [1, 4]);
    assert.deepEqual(lanesOf(1, 256, 64, 'y'), [4, 4]);
    // A matrix before a vector.
    assert.deepEqual(lanesOf(64, 256, 1, ''), [4, 4]);
    // Neighbors that no vector begins at.
    assert.deepEqual(lanesOf(1, 256, 63, ''), [1, 1]);
    assert.deepEqual(lanesOf(1, 255, 64, 'y'), [1, 1]);
  });
});
