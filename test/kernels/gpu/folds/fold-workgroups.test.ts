import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shaderOf } from '../../../../src/codegen/wgsl/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import type { Kernel, Stmt } from '../../../../src/loop/language/nodes.js';
import { workgroupsIn } from '../../../../src/loop/language/verify-workgroups.js';
import { ownExprs, visitExprs, visitStmts } from '../../../../src/loop/language/visit.js';
import { argmax, exp, layerNorm, logSoftmax, max, mul, prod, softmax, sum } from '../../../../src/ops/index.js'; // prettier-ignore
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { generator } from '../../../support/samples.js';

/* Folds by workgroups: they are right for all sizes, exact enough for all lengths, and the same in all orders. */

function programOf(shape: readonly number[], of: (x: Value) => Value): Program {
  const program = new Program();
  program.setOutputs([
    { name: 'y', value: of(program.variable('x', { dtype: 'float32', shape })) },
  ]);
  return program;
}

function floats(shape: readonly number[], of: (index: number) => number): Operand {
  return {
    storage: new Storage(
      'float32',
      Float32Array.from({ length: sizeOf(shape) }, (_, k) => of(k)),
    ),
    shape,
  };
}

function countOf(kernels: readonly Kernel[], kind: Stmt['kind']): number {
  let count = 0;
  for (const { body } of kernels) visitStmts(body, (stmt) => (count += Number(stmt.kind === kind)));
  return count;
}

/** Folds by rows of `columns`, or of columns. */
function foldedBy(
  x: Operand,
  axis: 0 | 1,
  start: number,
  fold: (sum: number, element: number, position: number) => number,
): number[] {
  const [rows, columns] = x.shape;
  const elements = numbersOf(x);
  const results = Array<number>(axis === 1 ? rows : columns).fill(start);
  elements.forEach((element, k) => {
    const [row, column] = [Math.floor(k / columns), k % columns];
    const at = axis === 1 ? row : column;
    results[at] = fold(results[at], element, axis === 1 ? column : row);
  });
  return results;
}

const mostRoundings = 16;

test('rows and columns of all lengths add up to 16 roundings of their magnitudes', async () => {
  const grid = new ProgramsOnGrid();
  const random = generator(3);
  for (const length of [0, 1, 63, 64, 65, 255, 256, 257, 1023, 1025, 20_011]) {
    for (const others of [1, 3, 12, 65]) {
      if (length * others > 80_000) continue;
      for (const axis of [0, 1] as const) {
        const x = floats(axis === 1 ? [others, length] : [length, others], () => random() - 0.25);
        const [y] = await grid.run(
          programOf(x.shape, (of) => sum(of, axis)),
          [x],
        );
        const exact = foldedBy(x, axis, 0, (total, element) => total + element);
        const magnitudes = foldedBy(x, axis, 0, (total, element) => total + Math.abs(element));
        numbersOf(y).forEach((found, k) => {
          const off = Math.abs(found - exact[k]);
          const allowed = mostRoundings * 2 ** -24 * magnitudes[k];
          assert.ok(off <= allowed, `${axis}, ${x.shape.join()}: ${found}, not ${exact[k]}`);
        });
      }
    }
  }
  assert.ok(grid.backend.launchesOfWorkgroups > 20);
});

test('dust beside one term counts', async () => {
  const x = floats([1, 30_000], (k) => (k < 97 ? 1 : 2 ** -25));
  const [y] = await new ProgramsOnGrid().run(
    programOf(x.shape, (of) => sum(of, 1)),
    [x],
  );
  const exact = 97 + (30_000 - 97) * 2 ** -25;
  assert.ok(Math.abs(numbersOf(y)[0] - exact) <= mostRoundings * 2 ** -24 * exact);
});

test('extrema, their first places and products fold by workgroups', async () => {
  const grid = new ProgramsOnGrid(5);
  const random = generator(8);
  for (const axis of [0, 1] as const) {
    const shape = axis === 1 ? [3, 700] : [1100, 4];
    const x = floats(shape, () => Math.floor(random() * 9) - 4);
    const elements = numbersOf(x);
    const best = foldedBy(x, axis, -Infinity, (a, b) => Math.max(a, b));
    assert.deepEqual(numbersOf((await grid.run(programOf(shape, (of) => max(of, axis)), [x]))[0]), best); // prettier-ignore
    const first = best.map((wanted, at) => {
      let place = -1;
      foldedBy(x, axis, 0, (count, element, position) => {
        const k = axis === 1 ? elements[at * 700 + position] : elements[position * 4 + at];
        if (place < 0 && k === wanted) place = position;
        return count + element;
      });
      return place;
    });
    const places = await grid.run(
      programOf(shape, (of) => argmax(of, axis)),
      [x],
    );
    assert.deepEqual(numbersOf(places[0]), first);
    const factors = floats(shape, () => 1 + (random() - 0.5) / 64);
    const exact = foldedBy(factors, axis, 1, (total, element) => total * element);
    const [product] = await grid.run(
      programOf(shape, (of) => prod(of, axis)),
      [factors],
    );
    numbersOf(product).forEach((value, k) => assert.ok(Math.abs(value / exact[k] - 1) < 1100 * 2 ** -24)); // prettier-ignore
  }
});

test('the order of invocations changes no bit', async () => {
  const random = generator(11);
  const x = floats([5, 2000], () => random() * 100 - 50);
  const program = (): Program => programOf(x.shape, (of) => logSoftmax(of, 1));
  const [first, ...others] = await Promise.all(
    [0, 1, 2].map(async (seed) => numbersOf((await new ProgramsOnGrid(seed).run(program(), [x]))[0])), // prettier-ignore
  );
  for (const other of others) assert.deepEqual(other, first);
});

test('rows are one kernel each, with one barrier for each halving and few others', () => {
  const barriersOf = (of: (x: Value) => Value, shape: readonly number[]): readonly number[] => {
    const kernels = gpuKernelsOf(programOf(shape, of));
    return [kernels.length, countOf(kernels, 'workgroups'), countOf(kernels, 'workgroup barrier')];
  };
  // A barrier before the tree and one in its loop; softmax looks three times, and overwrites states once.
  assert.deepEqual(
    barriersOf((x) => sum(x), [5000]),
    [1, 1, 2],
  );
  assert.deepEqual(
    barriersOf((x) => sum(x, 1), [40, 5000]),
    [1, 1, 2],
  );
  assert.deepEqual(
    barriersOf((x) => softmax(x, 1), [40, 5000]),
    [1, 1, 5],
  );
  assert.deepEqual(
    barriersOf((x) => layerNorm(x), [40, 5000]),
    [1, 1, 5],
  );
  // Short rows are left to one invocation each.
  assert.deepEqual(
    barriersOf((x) => softmax(x, 1), [40, 50]),
    [1, 0, 0],
  );
  assert.deepEqual(
    barriersOf((x) => sum(mul(exp(x), x), 0), [5000, 7]),
    [1, 1, 2],
  );
});

test('invocations of a group read neighboring elements', () => {
  const sizes = (shape: readonly number[], axis: number): readonly number[] =>
    gpuKernelsOf(programOf(shape, (x) => sum(x, axis))).flatMap(({ body }) =>
      workgroupsIn(body).map(({ size }) => size),
    );
  assert.deepEqual(sizes([4, 5000], 1), [256]);
  assert.deepEqual(sizes([400, 300], 1), [64]);
  assert.deepEqual(sizes([400, 100], 1), [64]);
  assert.deepEqual(sizes([5000, 40], 0), [256]);
  // So many results fill the device, one invocation each.
  assert.deepEqual(sizes([100, 70_000], 0), []);
});

test('columns are read by vectors of neighbors where their number is a multiple of four', async () => {
  const shape = [1030, 24];
  const program = (columns: number): Program =>
    programOf([1030, columns], (x) => mul(sum(mul(x, x), 0), 2));
  const lanesOf = (columns: number): number => {
    let most = 0;
    for (const { body } of gpuKernelsOf(program(columns))) {
      visitStmts(body, (stmt) =>
        visitExprs(ownExprs(stmt), ({ kind, type }) => {
          if (kind === 'load') most = Math.max(most, type.lanes);
        }),
      );
    }
    return most;
  };
  assert.deepEqual([24, 23].map(lanesOf), [4, 1]);
  const x = floats(shape, (k) => (k % 7) - 3);
  const expected = foldedBy(x, 0, 0, (total, element) => total + element * element);
  for (const seed of [0, 4]) {
    const [y] = await new ProgramsOnGrid(seed).run(program(24), [x]);
    assert.deepEqual(numbersOf(y), expected.map((total) => 2 * total)); // prettier-ignore
  }
});

test('elements of rows wait for the next pass in registers, those of long rows in memory', () => {
  const memoryOf = (columns: number): readonly string[] =>
    gpuKernelsOf(programOf([8, columns], (x) => softmax(x, 1))).flatMap((kernel) => {
      const memories = kernel.params.filter(({ kind }) => kind === 'buffer').map((_, k) => k);
      const features = { maxWorkgroupInvocations: 256, maxWorkgroupsPerDimension: 65535, maxStorageBuffers: 8 }; // prettier-ignore
      const { parameters } = shaderOf(kernel, { memories, isAligned: true }, features);
      return parameters.map(({ kind }) => kind).filter((kind) => kind === 'private' || kind === 'locals'); // prettier-ignore
    });
  for (const columns of [64, 300, 511, 768, 1000, 1023, 1024, 8192]) {
    assert.deepEqual(memoryOf(columns), ['locals'], `${columns}`);
  }
  assert.deepEqual(memoryOf(16_384), ['private']);
});
