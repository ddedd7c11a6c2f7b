import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import type { Contraction } from '../../../../src/kernels/contraction/spec.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { gpuTarget } from '../../../../src/kernels/gpu/index.js';
import { canHaveTotals } from '../../../../src/kernels/gpu/product/blocks.js';
import type { ProductTile } from '../../../../src/kernels/gpu/product/tile.js';
import { tiledProduct } from '../../../../src/kernels/gpu/product/tiled.js';
import * as e from '../../../../src/loop/language/build.js';
import type { Buffer, Const, Expr, Kernel } from '../../../../src/loop/language/nodes.js';
import { verifyKernel } from '../../../../src/loop/language/verify.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { ownExprs, visitExprs, visitStmts } from '../../../../src/loop/language/visit.js';
import { add, matmul, relu, swapaxes, tanh } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { interpreted } from '../../../support/gpu-kernels.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { generator } from '../../../support/samples.js';

/* Products by workgroups: right for all sizes around the tiles, with what follows them in the same kernel. */

type Extent = number | 'any';

/** `f(x, y)` of operands of these shapes. */
function programOf(
  shapes: readonly (readonly Extent[])[],
  of: (...operands: readonly Value[]) => Value,
): Program {
  const program = new Program();
  let count = 0;
  const operands = shapes.map((shape, which) =>
    program.variable(`x${which}`, {
      dtype: 'float32',
      shape: shape.map((extent) => (extent === 'any' ? symbol(`s${count++}`) : extent)),
    }),
  );
  program.setOutputs([{ name: 'y', value: of(...operands) }]);
  return program;
}

const random = generator(4);

/** Whole numbers, whose sums are exact. */
function whole(shape: readonly number[]): Operand {
  const elements = Float32Array.from({ length: sizeOf(shape) }, () => Math.floor(random() * 9) - 4);
  return { storage: new Storage('float32', elements), shape };
}

/** The product of `[m, k]` and `[k, n]`. */
function productOf(
  x: readonly number[],
  y: readonly number[],
  m: number,
  n: number,
  k: number,
): number[] {
  // prettier-ignore
  return Array.from({ length: m * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    let sum = 0;
    for (let step = 0; step < k; step++) sum += x[i * k + step] * y[step * n + j];
    return sum;
  });
}

/** The least and most of a kind of access to buffers that several operands share. */
function groupsOf(kernels: readonly Kernel[]): readonly { size: number; bytes: number }[] {
  return kernels.flatMap(({ body }) =>
    workgroupsIn(body).map(({ size, memory }) => ({
      size,
      bytes: memory.reduce((sum, { length }) => sum + 4 * length, 0),
    })),
  );
}

const sizes: readonly (readonly [m: number, k: number, n: number])[] = [
  [0, 3, 5], [5, 0, 7], [5, 3, 0], [1, 1, 1], [1, 257, 1], [1, 300, 70], [70, 300, 1], [3, 65, 33], [33, 7, 2], [5, 5, 5],
  [15, 16, 17], [16, 16, 16], [17, 15, 16], [31, 33, 40], [33, 64, 32], [64, 16, 64], [65, 17, 63], [16, 31, 200], [200, 5, 18],
]; // prettier-ignore

describe('products by workgroups', () => {
  it('are right for sizes around those of the tiles', async () => {
    const grid = new ProgramsOnGrid(1);
    for (const [m, k, n] of sizes) {
      const [x, y] = [whole([m, k]), whole([k, n])];
      const [found] = await grid.run(programOf([[m, k], [k, n]], (a, b) => matmul(a, b)), [x, y]); // prettier-ignore
      const expected = productOf(numbersOf(x), numbersOf(y), m, n, k);
      assert.deepEqual(numbersOf(found), expected, `${m} ${k} ${n}`);
    }
    assert.ok(grid.backend.launchesOfWorkgroups >= sizes.length - 5);
  });

  it('are right where sizes are known at run time only', async () => {
    const grid = new ProgramsOnGrid(2);
    for (const [m, k, n] of sizes) {
      const [x, y] = [whole([m, k]), whole([k, n])];
      const shapes = [['any', k], [k, n]] as const; // prettier-ignore
      const [found] = await grid.run(
        programOf(shapes, (a, b) => matmul(a, b)),
        [x, y],
      );
      assert.deepEqual(numbersOf(found), productOf(numbersOf(x), numbersOf(y), m, n, k), `${m} ${k} ${n}`); // prettier-ignore
    }
  });

  it('read transposed operands where they are, and a batch of them', async () => {
    const grid = new ProgramsOnGrid(3);
    const [m, k, n] = [35, 18, 21];
    const [x, y] = [whole([3, k, m]), whole([n, k])];
    const program = programOf([[3, k, m], [n, k]], (a, b) => matmul(swapaxes(a, 1, 2), swapaxes(b, 0, 1))); // prettier-ignore
    assert.equal(gpuKernelsOf(program).length, 1);
    const [found] = await grid.run(program, [x, y]);
    const [left, right] = [numbersOf(x), numbersOf(y)];
    const expected = [0, 1, 2].flatMap((b) => {
      const turned = Array.from({ length: m * k }, (_, at) => left[b * m * k + (at % k) * m + Math.floor(at / k)]); // prettier-ignore
      const columns = Array.from({ length: n * k }, (_, at) => right[(at % n) * k + Math.floor(at / n)]); // prettier-ignore
      return productOf(turned, columns, m, n, k);
    });
    assert.deepEqual(numbersOf(found), expected);
  });

  it('carry what long sums round away', async () => {
    for (const [m, k, n] of [
      [1, 60_000, 1],
      [17, 3000, 17],
      [1, 5000, 40],
    ] as const) {
      // prettier-ignore
      const tenth = Math.fround(0.1);
      const full = (shape: readonly number[], value: number): Operand => ({
        storage: new Storage('float32', new Float32Array(sizeOf(shape)).fill(value)),
        shape,
      });
      const program = programOf([[m, k], [k, n]], (a, b) => matmul(a, b)); // prettier-ignore
      const [found] = await new ProgramsOnGrid().run(program, [full([m, k], tenth), full([k, n], 1)]); // prettier-ignore
      for (const sum of numbersOf(found)) {
        assert.ok(Math.abs(sum / (tenth * k) - 1) < 60 * 2 ** -24, `${m} ${k} ${n}: ${sum}`);
      }
    }
  });

  it('hold what follows in the same kernel, within the memory of a workgroup', async () => {
    const [m, k, n] = [40, 20, 70];
    const program = programOf([[m, k], [k, n], [n]], (a, b, c) => relu(add(matmul(a, b), c))); // prettier-ignore
    const kernels = gpuKernelsOf(program);
    assert.equal(kernels.length, 1);
    const [x, y, bias] = [whole([m, k]), whole([k, n]), whole([n])];
    const [found] = await new ProgramsOnGrid(9).run(program, [x, y, bias]);
    const expected = productOf(numbersOf(x), numbersOf(y), m, n, k).map((sum, at) =>
      Math.max(0, sum + numbersOf(bias)[at % n]),
    );
    assert.deepEqual(numbersOf(found), expected);
  });

  it('hold an activation in their code once, whatever it takes', async () => {
    for (const [m, k, n] of [[128, 40, 128], [2, 300, 12], [5, 8, 3]] as const) {
      const program = programOf([[m, k], [k, n], [n]], (a, b, c) => tanh(add(matmul(a, b), c)));
      const kernels = gpuKernelsOf(program);
      assert.equal(kernels.length, 1);
      let divisions = 0;
      visitStmts(kernels[0].body, (stmt) =>
        visitExprs(ownExprs(stmt), (expr) => (divisions += Number(expr.kind === 'binary' && expr.op === 'div' && expr.type.scalar === 'f32'))));
      assert.equal(divisions, 1);
      const [x, y, bias] = [whole([m, k]), whole([k, n]), whole([n])];
      const [found] = await new ProgramsOnGrid(9).run(program, [x, y, bias]);
      const sums = productOf(numbersOf(x), numbersOf(y), m, n, k);
      numbersOf(found).forEach((value, at) => assert.ok(Math.abs(value - Math.tanh(sums[at] + numbersOf(bias)[at % n])) <= 4 * 2 ** -24));
    }
  }); // prettier-ignore

  it('read each operand once for each tile, and have few barriers', () => {
    const kernelOf = (m: number, k: number, n: number): readonly Kernel[] =>
      gpuKernelsOf(programOf([[m, k], [k, n]], (a, b) => matmul(a, b))); // prettier-ignore
    assert.deepEqual(groupsOf(kernelOf(1024, 1024, 1024)), [{ size: 256, bytes: 16384 }]);
    // Tiles of 32 rows and 64 columns; the results are less than the operands.
    assert.deepEqual(groupsOf(kernelOf(64, 64, 64)), [{ size: 256, bytes: 16 * (32 + 64) * 4 + 2048 }]); // prettier-ignore
    const [{ body }] = kernelOf(1024, 1024, 1024);
    let [barriers, loads] = [0, 0];
    visitStmts(body, ({ kind }) => (barriers += Number(kind === 'workgroup barrier')));
    assert.equal(barriers, 2);
    // An invocation loads a vector of each operand for 16 steps of 16 results.
    visitStmts(body, (stmt) => {
      if (stmt.kind !== 'store') return;
      visitExprs([stmt.value], (expr) => {
        if (expr.kind === 'load' && expr.buffer.name.startsWith('x')) loads += expr.type.lanes;
      });
    });
    assert.equal(loads, 8);
  });

  /** What the kernel of a tile computes, and the elements that each invocation has for itself. */
  function byTile(
    tile: ProductTile,
    [m, k, n]: readonly [m: number, k: number, n: number],
    left: readonly number[],
    right: readonly number[],
  ): readonly [found: readonly number[], own: number] {
    const [x, y, out] = ['x', 'y', 'out'].map((name) => e.buffer(name, 'f32'));
    const own = e.buffer('own', 'f32', { isPrivate: true });
    let elements = 0;
    const scratch = (_: string, dtype: string, length: Expr): Buffer => {
      assert.equal(dtype, 'float32');
      assert.equal(elements, 0, 'one of them');
      elements = Number((length as Const).value);
      return own;
    };
    const product = tiledProduct(
      {
        context: { scratch, target: gpuTarget, isDivided: true },
        scalar: 'f32',
        batch: e.i32(1),
        m: e.i32(m),
        n: e.i32(n),
        k: e.i32(k),
        a: (_, i, at) => e.load(x, e.add(e.mul(i, k), at)),
        b: (_, at, j) => e.load(y, e.add(e.mul(at, n), j)),
        store: (_, i, j, value) => e.store(out, e.add(e.mul(i, n), j), value),
      },
      tile,
    );
    const kernel = e.kernel('product', [x, y, out, own], product);
    verifyKernel(kernel);
    const given = [Float32Array.from(left), Float32Array.from(right), new Float32Array(m * n)];
    const [, , found] = interpreted(kernel, [...given, { privateBytes: 4 * elements }]);
    return [[...(found as Float32Array)], elements];
  }

  it('are right for the largest tiles', () => {
    const [m, k, n] = [256, 32, 128];
    const [left, right] = [whole([m, k]), whole([k, n])].map(numbersOf);
    const largest = { rows: 8, vectors: 2, across: 16, below: 16, depth: 16 };
    const [found, own] = byTile(largest, [m, k, n], left, right);
    assert.deepEqual(found, productOf(left, right, m, n, k));
    assert.equal(own, 0);
  });

  it('have totals of blocks in memory where registers are full', () => {
    const [m, k, n] = [9, 1100, 7];
    const tile = { rows: 8, vectors: 1, across: 2, below: 1, depth: 16 };
    const [left, right] = [whole([m, k]), whole([k, n])].map(numbersOf);
    const [found, own] = byTile(tile, [m, k, n], left, right);
    assert.deepEqual(found, productOf(left, right, m, n, k));
    assert.equal(own, 8 * 4);
    // Equal terms, the worst that is ordinary: on average each addition is off by a quarter of a rounding.
    const tenth = Math.fround(0.1);
    const [same] = byTile(tile, [m, k, n], Array<number>(m * k).fill(tenth), Array<number>(k * n).fill(1)); // prettier-ignore
    for (const sum of same) {
      assert.ok(Math.abs(sum / (tenth * k) - 1) < (256 / 4 + k / 256 / 4 + 2) * 2 ** -24, `${sum}`);
    }
  });

  it('have short blocks of whole steps only', () => {
    const long = { k: e.i32(3000), scalar: 'f32' } as const;
    assert.deepEqual(
      [8, 16, 32].map((depth) => canHaveTotals(4, depth, long)),
      [true, true, false],
    );
    assert.ok(canHaveTotals(4, 32, { ...long, k: e.i32(1024) }));
    assert.ok(canHaveTotals(16, 32, long));
  });

  it('have totals in memory only for a number of terms that is known', () => {
    const specOf = (k: Expr): Pick<Contraction, 'k' | 'scalar'> => ({ k, scalar: 'f32' });
    for (const [k, sums, isPossible] of [
      [e.i32(1024), 16, true], [e.i32(65_536), 16, true], [e.i32(65_537), 16, false], [e.variable('k', 'i32'), 16, false], [e.variable('k', 'i32'), 4, true],
    ] as const) {
      assert.equal(canHaveTotals(sums, 16, specOf(k)), isPossible);
    } // prettier-ignore
  });
});
