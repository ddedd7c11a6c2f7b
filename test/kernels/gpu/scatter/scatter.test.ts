import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { visitStmts } from '../../../../src/loop/language/visit.js';
import { rangesIn } from '../../../../src/loop/language/verify-ranges.js';
import { scatter, scatterAdd, takeAdjoint } from '../../../../src/ops/index.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Storage } from '../../../../src/runtime/memory/storage.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { generator } from '../../../support/samples.js';

/* Scatters by an invocation for each element of the result, against a loop over the contributions. */

const random = generator(6);

function floats(shape: readonly number[], of: () => number): Operand {
  return { storage: new Storage('float32', Float32Array.from({ length: sizeOf(shape) }, of)), shape }; // prettier-ignore
}

function positions(shape: readonly number[], below: number): Operand {
  const elements = Int32Array.from({ length: sizeOf(shape) }, () => Math.floor(random() * 2 * below) - below); // prettier-ignore
  return { storage: new Storage('int32', elements), shape };
}

function programOf(operands: readonly Operand[], of: (...all: readonly Value[]) => Value): Program {
  const program = new Program();
  const given = operands.map(({ storage: { dtype }, shape }, k) => program.variable(`x${k}`, { dtype, shape })); // prettier-ignore
  program.setOutputs([{ name: 'y', value: of(...given) }]);
  return program;
}

test('gradients of rows that were taken go to their rows', async () => {
  const [rows, width, count] = [11, 5, 70];
  const g = floats([7, 10, width], () => Math.floor(random() * 9) - 4);
  const at = positions([7, 10], rows);
  const program = programOf([g, at], (of, indices) => takeAdjoint(of, indices, [rows, width], { axis: 0 })); // prettier-ignore
  const [y] = await new ProgramsOnGrid().run(program, [g, at]);
  const expected = Array<number>(rows * width).fill(0);
  const [places, values] = [at, g].map(numbersOf);
  for (let k = 0; k < count; k++) {
    const row = (places[k] + rows) % rows;
    for (let c = 0; c < width; c++) expected[row * width + c] += values[k * width + c];
  }
  assert.deepEqual(numbersOf(y), expected);
  // One invocation for each element of the result, and no other loop but that over the positions.
  const [{ body }, ...others] = gpuKernelsOf(program);
  assert.equal(others.length, 0);
  assert.equal(rangesIn(body).length, 1);
  let loops = 0;
  visitStmts(body, ({ kind }) => (loops += Number(kind === 'for')));
  assert.equal(loops, 3);
});

test('updates along an axis add up in order, or the last one stays', async () => {
  for (const [axis, shape, smaller] of [
    [0, [6, 4], [9, 3]],
    [1, [4, 6], [2, 20]],
  ] as const) {
    // prettier-ignore
    const x = floats(shape, () => Math.floor(random() * 9));
    const at = positions(smaller, shape[axis]);
    const updates = floats(smaller, () => Math.floor(random() * 90));
    for (const [name, operator] of [
      ['add', scatterAdd],
      ['set', scatter],
    ] as const) {
      // prettier-ignore
      const program = programOf([x, at, updates], (a, b, c) => operator(a, b, c, axis));
      const [y] = await new ProgramsOnGrid().run(program, [x, at, updates]);
      const expected = numbersOf(x);
      const places = numbersOf(at);
      numbersOf(updates).forEach((update, k) => {
        const index = [Math.floor(k / smaller[1]), k % smaller[1]];
        index[axis] = (places[k] + shape[axis]) % shape[axis];
        const place = index[0] * shape[1] + index[1];
        expected[place] = name === 'add' ? expected[place] + update : update;
      });
      assert.deepEqual(numbersOf(y), expected, `${name} along ${axis}`);
    }
  }
});

type Update = readonly [axis: number, shape: readonly number[], smaller: readonly number[]];

test('many updates find their places by a sort of all positions', async () => {
  for (const [axis, shape, smaller] of [
    [0, [9000], [600]],
    [0, [2000, 4], [700, 3]],
    [1, [3, 4000], [2, 600]],
  ] satisfies readonly Update[] as readonly Update[]) {
    const x = floats(shape, () => Math.floor(random() * 9));
    const at = positions(smaller, Math.min(shape[axis], 500));
    const updates = floats(smaller, () => Math.floor(random() * 90));
    for (const [name, operator] of [
      ['add', scatterAdd],
      ['set', scatter],
    ] as const) {
      const program = programOf([x, at, updates], (a, b, c) => operator(a, b, c, axis));
      assert.ok(gpuKernelsOf(program).length > 2);
      const [y] = await new ProgramsOnGrid(1).run(program, [x, at, updates]);
      const expected = numbersOf(x);
      const [behind, smallBehind] = [shape, smaller].map((extents) => sizeOf(extents.slice(axis + 1)));
      const places = numbersOf(at);
      numbersOf(updates).forEach((update, k) => {
        const [before, inner] = [Math.floor(k / smallBehind / smaller[axis]), k % smallBehind];
        const along = (places[k] + shape[axis]) % shape[axis];
        const place = (before * shape[axis] + along) * behind + inner;
        expected[place] = name === 'add' ? expected[place] + update : update;
      });
      assert.deepEqual(numbersOf(y), expected, `${name} along ${axis}`);
    }
  }
}); // prettier-ignore

test('many updates of one place carry what they round away', async () => {
  const count = 5000;
  const [x, updates] = [floats([2], () => 0), floats([count], () => 0.1)];
  const at = { storage: new Storage('int32', new Int32Array(count).fill(1)), shape: [count] };
  const program = programOf([x, at, updates], (a, b, c) => scatterAdd(a, b, c, 0));
  const [y] = await new ProgramsOnGrid().run(program, [x, at, updates]);
  const exact = Math.fround(0.1) * count;
  assert.ok(Math.abs(numbersOf(y)[1] - exact) <= 16 * 2 ** -24 * exact);
  assert.equal(numbersOf(y)[0], 0);
});

test('gradients of many positions are added in order of the sorted positions', async () => {
  const [rows, width] = [500, 3];
  for (const [shape, axis, at, mode] of [
    [[rows, width], 0, positions([60, 50], rows), 'error'],
    [[2, rows, width], 1, positions([3000], 2 * rows), 'wrap'],
    [[rows, width], null, positions([3000], rows), 'error'],
    [[width, rows], 1, positions([3000], 2 * rows), 'clip'],
  ] as const) {
    const size = axis === null ? rows * width : rows;
    const taken = axis === null ? [...at.shape] : shape.toSpliced(axis, 1, ...at.shape);
    const g = floats(taken, () => Math.floor(random() * 9) - 4);
    const program = programOf([g, at], (of, indices) => takeAdjoint(of, indices, shape, { axis, mode })); // prettier-ignore
    // Positions, runs, one merge, and the sums.
    assert.equal(gpuKernelsOf(program).length, 4);
    const inner = axis === null ? 1 : sizeOf(shape.slice(axis + 1));
    const count = sizeOf(at.shape);
    const expected = Array<number>(sizeOf(shape)).fill(0);
    const places = numbersOf(at);
    numbersOf(g).forEach((value, k) => {
      const [before, contribution, behind] = [Math.floor(k / inner / count), Math.floor(k / inner) % count, k % inner]; // prettier-ignore
      const raw = places[contribution];
      const counted = mode === 'clip' ? Math.min(Math.max(raw, 0), size - 1) : (raw + 4 * size) % size; // prettier-ignore
      expected[(before * size + counted) * inner + behind] += value;
    });
    const [y] = await new ProgramsOnGrid(inner).run(program, [g, at]);
    assert.deepEqual(numbersOf(y), expected);
  }
});

test('gradients of positions of unknown number are sorted, but where they meet few elements', async () => {
  const [n, time] = ['n', 'time'].map((name) => symbol(name));
  for (const [shape, axis, isSorted] of [
    // A table of words, and rows of a batch that were taken in another order.
    [[1024, 128], 0, true],
    [[time, n, 32], 1, true],
    [[64, 24], 0, false],
    [[n, 8], 0, true],
  ] as const) {
    const program = new Program();
    const along = shape[axis];
    const [count, size] = [n, along].map((extent) => (typeof extent === 'number' ? extent : 7));
    const sizes = shape.map((extent) => (typeof extent === 'number' ? extent : extent === time ? 2 : 7)); // prettier-ignore
    const g = program.variable('g', { dtype: 'float32', shape: shape.toSpliced(axis, 1, n) });
    const indices = program.variable('at', { dtype: 'int32', shape: [n] });
    program.setOutputs([{ name: 'y', value: takeAdjoint(g, indices, shape, { axis }) }]);
    const kernels = gpuKernelsOf(program);
    // Positions, runs of them, their ranks among some and among all, and the sums.
    assert.equal(kernels.length, isSorted ? 5 : 1, String(shape));
    const given = floats(sizes.toSpliced(axis, 1, count), () => Math.floor(random() * 9) - 4);
    const at = positions([count], size);
    const [before, behind] = [sizeOf(sizes.slice(0, axis)), sizeOf(sizes.slice(axis + 1))];
    const expected = Array<number>(before * size * behind).fill(0);
    const places = numbersOf(at);
    numbersOf(given).forEach((value, k) => {
      const [outer, contribution, inner] = [Math.floor(k / behind / count), Math.floor(k / behind) % count, k % behind]; // prettier-ignore
      const place = (places[contribution] + size) % size;
      expected[(outer * size + place) * behind + inner] += value;
    });
    const [y] = await new ProgramsOnGrid().run(program, [given, at]);
    assert.deepEqual(numbersOf(y), expected, String(shape));
  }
});

test('many updates of rank 1 are sorted, and long sums of them carry what they round away', async () => {
  const [size, count] = [2000, 4000];
  const [x, updates] = [floats([size], () => 1), floats([count], () => 0.1)];
  const at = { storage: new Storage('int32', Int32Array.from({ length: count }, (_, k) => (k % 4 === 0 ? k >> 1 : -1))), shape: [count] }; // prettier-ignore
  const program = programOf([x, at, updates], (a, b, c) => scatterAdd(a, b, c, 0));
  assert.equal(gpuKernelsOf(program).length, 4);
  const [y] = await new ProgramsOnGrid().run(program, [x, at, updates]);
  const exact = 1 + Math.fround(0.1) * 3000;
  assert.ok(Math.abs(numbersOf(y)[size - 1] - exact) <= 16 * 2 ** -24 * exact);
  assert.equal(numbersOf(y)[2], Math.fround(1 + Math.fround(0.1)));
  assert.equal(numbersOf(y)[1], 1);
});

test('updates along an axis of arrays of unknown sizes are sorted by their places', async () => {
  const [n, m] = ['n', 'm'].map((name) => symbol(name));
  for (const [shape, smaller, axis] of [
    [[n], [m], 0],
    [[n, 5], [m, 5], 0],
    [[3, n, 2], [2, m, 2], 1],
  ] as const) {
    for (const [name, operator] of [['add', scatterAdd], ['set', scatter]] as const) {
      const program = new Program();
      const x = program.variable('x', { dtype: 'float32', shape });
      const at = program.variable('at', { dtype: 'int32', shape: smaller });
      const updates = program.variable('updates', { dtype: 'float32', shape: smaller });
      program.setOutputs([{ name: 'y', value: operator(x, at, updates, axis) }]);
      // Places, runs, ranks among some and among all, and the elements.
      assert.equal(gpuKernelsOf(program).length, 5);
      const grid = new ProgramsOnGrid(4);
      for (const [size, count] of [[1, 1], [7, 30], [40, 0], [90, 700]] as const) {
        const [whole, part] = [shape, smaller].map((extents) => extents.map((extent) => (typeof extent === 'number' ? extent : extent === n ? size : count)));
        const given = [floats(whole, () => Math.floor(random() * 9)), positions(part, size), floats(part, () => Math.floor(random() * 90))] as const;
        const [y] = await grid.run(program, given);
        const expected = numbersOf(given[0]);
        const [behind, smallBehind] = [whole, part].map((extents) => sizeOf(extents.slice(axis + 1)));
        const places = numbersOf(given[1]);
        numbersOf(given[2]).forEach((update, k) => {
          const [before, inner] = [Math.floor(k / smallBehind / count), k % smallBehind];
          const along = (places[k] + size) % size;
          const place = (before * size + along) * behind + inner;
          expected[place] = name === 'add' ? expected[place] + update : update;
        });
        assert.deepEqual(numbersOf(y), expected, `${name} of ${part.join()} to ${whole.join()}`);
      }
    }
  }
}); // prettier-ignore
