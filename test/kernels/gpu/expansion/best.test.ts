import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Dim, symbol } from '../../../../src/base/dim/index.js';
import type { DType } from '../../../../src/base/dtype.js';
import { Program } from '../../../../src/ir/program.js';
import type { Expr } from '../../../../src/loop/language/nodes.js';
import { ownExprs, visitExprs, visitStmts } from '../../../../src/loop/language/visit.js';
import { argmax, argmin } from '../../../../src/ops/index.js';
import { gpuTarget } from '../../../../src/kernels/gpu/index.js';
import { DeviceExecutable } from '../../../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../../../src/runtime/device/queue.js';
import { numbersOf, sizeOf } from '../../../support/arrays.js';
import { gpuKernelsOf, ProgramsOnGrid } from '../../../support/gpu-programs.js';
import { FakeBackend } from '../../../support/fake-device.js';
import { operand } from '../../../support/programs.js';
import { generator } from '../../../support/samples.js';

/* Positions of the greatest and the least elements: of few results over many elements they are two dispatches. */

type Search = typeof argmax;

function programOf(search: Search, dtype: DType, shape: readonly Dim[], axis: number | null): Program {
  const program = new Program();
  program.setOutputs([{ name: 'y', value: search(program.variable('x', { dtype, shape }), axis) }]);
  return program;
} // prettier-ignore

/** The first of the best elements of each row along an axis, or of all; NaN is the best. */
function bestOf(search: Search, numbers: readonly number[], shape: readonly number[], axis: number | null): number[] {
  const [length, behind] = axis === null ? [numbers.length, 1] : [shape[axis], sizeOf(shape.slice(axis + 1))];
  return Array.from({ length: numbers.length / length }, (_, row) => {
    const start = Math.floor(row / behind) * length * behind + (row % behind);
    const elements = Array.from({ length }, (_, k) => numbers[start + k * behind]);
    const missing = elements.findIndex(Number.isNaN);
    const best = elements.reduce((a, b) => (search === argmax ? Math.max(a, b) : Math.min(a, b)));
    return missing >= 0 ? missing : elements.indexOf(best);
  });
} // prettier-ignore

const random = generator(31);
const long = 2 ** 16;

for (const [dtype, shape, axis, sizes] of [
  ['float32', [long], 0, [long]],
  ['float32', [3, long], -1, [3, long]],
  ['int32', [long, 3], 0, [long, 3]],
  ['float16', [256, 256], null, [256, 256]],
  ['float32', [long + 1], null, [long + 1]],
  ['float32', [symbol('n')], 0, [20_000]],
  ['bool', [symbol('n')], 0, [17_000]],
  ['float32', [2, symbol('n'), 3], 1, [2, 500, 3]],
] as const satisfies readonly (readonly [DType, readonly Dim[], number | null, readonly number[]])[]) {
  test(`positions of ${dtype} ${sizes.join(' by ')} along ${axis} are two dispatches`, async () => {
    for (const search of [argmax, argmin]) {
      const program = programOf(search, dtype, shape, axis);
      assert.equal(gpuKernelsOf(program).length, 2);
      const along = axis === null ? null : axis < 0 ? axis + sizes.length : axis;
      // Many equal elements; infinities like those that fill up the last part; sometimes NaN.
      const elements: readonly (() => number)[] = [
        () => (dtype === 'bool' ? Number(random() < 0.5) : Math.floor(random() * 900)),
        () => (dtype.startsWith('float') ? (search === argmax ? -Infinity : Infinity) : 1),
        () => (dtype.startsWith('float') && random() < 1e-4 ? NaN : Number(random() < 0.9)),
      ];
      // Long rows take their time.
      for (const element of sizeOf(sizes) > 2 * long ? elements.slice(2) : elements) {
        const numbers = Array.from({ length: sizeOf(sizes) }, element);
        const [y] = await new ProgramsOnGrid(4).run(program, [operand(dtype, sizes, numbers)]);
        assert.deepEqual(numbersOf(y).map(Number), bestOf(search, numbers, sizes, along));
      }
    }
  });
} // prettier-ignore

test('positions in short rows, or in many, are one kernel', () => {
  for (const shape of [[long / 2], [64, long], [4096, 64]]) {
    assert.equal(gpuKernelsOf(programOf(argmax, 'float32', shape, shape.length - 1)).length, 1);
  }
});

test('rows of which positions are wanted are read by vectors', () => {
  for (const dtype of ['float32', 'int32', 'bool'] as const) {
    const [{ body }] = gpuKernelsOf(programOf(argmax, dtype, [64, 4096], 1));
    const loads = new Set<Expr>();
    visitStmts(body, (stmt) =>
      visitExprs(ownExprs(stmt), (expr) => {
        if (expr.kind === 'load' && expr.buffer.name.startsWith('x')) loads.add(expr);
      }),
    );
    assert.deepEqual([...loads].map(({ type: { lanes } }) => lanes), [4]);
  }
}); // prettier-ignore

test('of a dtype that a device lacks the last step is computed elsewhere', async () => {
  const queue = new DeviceQueue(new FakeBackend('narrow', { target: gpuTarget }));
  const numbers = Array.from({ length: 70_000 }, (_, k) => (k === 69_998 || k === 69_999 ? 3 : k % 3));
  const x = operand('int32', [numbers.length], numbers);
  const executable = new DeviceExecutable(programOf(argmax, 'int32', x.shape, 0), queue, 'islands');
  const [{ storage }] = executable.run([{ storage: x.storage.onBackend(queue), shape: x.shape }]);
  assert.deepEqual(Array.from<unknown>(await storage.read()), [69_998n]);
  executable.release();
}); // prettier-ignore
