import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { ints, model, node, value } from '../models.js';

/*
 * The reductions of ONNX 18: the axes are an operand, which may be missing or empty. Then all axes are reduced,
 * or, with `noop_with_empty_axes`, none: what is computed of each element beside the reduction still is.
 */

/** What an operator makes of a list of elements. */
const formulas: Readonly<Record<string, (list: readonly number[]) => number>> = {
  ReduceSum: (list) => total(list),
  ReduceProd: (list) => list.reduce((a, b) => a * b, 1),
  ReduceMean: (list) => total(list) / list.length,
  ReduceMax: (list) => Math.max(...list),
  ReduceMin: (list) => Math.min(...list),
  ReduceL1: (list) => total(list.map(Math.abs)),
  ReduceL2: (list) => Math.sqrt(total(list.map((x) => x * x))),
  ReduceSumSquare: (list) => total(list.map((x) => x * x)),
  ReduceLogSum: (list) => Math.log(total(list)),
  ReduceLogSumExp: (list) => Math.log(total(list.map(Math.exp))),
};

const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);

/** Of both signs, but for logarithms. */
function elementsFor(op: string): readonly number[] {
  const elements = [1.5, -2, 3, 0.5, -0.25, 4];
  return op === 'ReduceLogSum' ? elements.map(Math.abs) : elements;
}

/** One result for each list of elements that fall together. */
interface Expected {
  readonly lists: readonly (readonly number[])[];
  readonly shape: readonly number[];
}

/** What of a 2 x 3 matrix falls together. */
function expectedOf(x: readonly number[], axes: readonly number[], keepdims: boolean): Expected {
  const has = [0, 1].map((axis) => axes.includes(axis) || axes.includes(axis - 2));
  const groups = new Map<string, number[]>();
  x.forEach((element, i) => {
    const at = [Math.trunc(i / 3), i % 3].map((index, axis) => (has[axis] ? 0 : index)).join();
    groups.set(at, [...(groups.get(at) ?? []), element]);
  });
  const shape = [2, 3].flatMap((extent, axis) =>
    has[axis] ? (keepdims ? [1] : []) : [extent],
  ); // prettier-ignore
  return { lists: [...groups.values()], shape };
}

/** The axes that a node is given: none, none of them, or some. */
const givenAxes: readonly (readonly number[] | null)[] = [null, [], [0], [-1], [0, 1]];

describe('reductions of ONNX', () => {
  for (const [op, formula] of Object.entries(formulas)) {
    it(`${op} reduces the axes that it is given, all, or none`, () => {
      for (const axes of givenAxes) {
        for (const noop of [false, true]) {
          for (const keepdims of [false, true]) {
            const x = elementsFor(op);
            const bytes = model(
              {
                name: 'reduction',
                node: [
                  node(op, axes === null ? ['x'] : ['x', 'axes'], 'y', {
                    keepdims: Number(keepdims),
                    noop_with_empty_axes: Number(noop),
                  }),
                ],
                input: [value('x', [2, 3])],
                output: [value('y', [])],
                initializer: axes === null ? [] : [ints('axes', [axes.length], axes)],
              },
              { opsetImport: [{ domain: '', version: 18n }] },
            );
            const array = kn.array(new Float32Array(x), { shape: [2, 3] });
            const { y } = fromOnnx(bytes).run({ x: array });
            const isEmpty = axes === null || axes.length === 0;
            const { lists, shape } =
              isEmpty && noop
                ? { lists: x.map((element) => [element]), shape: [2, 3] }
                : expectedOf(x, isEmpty ? [0, 1] : axes, keepdims);
            const name = `axes ${axes?.join() ?? 'missing'}, noop ${noop}, keepdims ${keepdims}`;
            assert.deepEqual(y.shape, shape, name);
            const found = y.flatten().tolist() as number[];
            lists.map(formula).forEach((each, i) => {
              assert.ok(Math.abs(found[i] - each) <= 1e-5 * Math.max(1, Math.abs(each)), `${name}: ${found[i]}, not ${each}`); // prettier-ignore
            });
          }
        }
      }
    });
  }

  it('of integers keep their dtype where nothing is reduced, and where something is', () => {
    for (const [op, expected, alone] of [
      ['ReduceSum', [4], [-3, 7]],
      ['ReduceL1', [10], [3, 7]],
      ['ReduceSumSquare', [58], [9, 49]],
      ['ReduceMax', [7], [-3, 7]],
      ['ReduceMin', [-3], [-3, 7]],
      ['ReduceL2', [7], [3, 7]],
    ] as const) {
      for (const noop of [0, 1]) {
        const bytes = model(
          {
            name: 'reduction',
            node: [node(op, ['x'], 'y', { keepdims: 1, noop_with_empty_axes: noop })],
            input: [value('x', [2], 6)],
            output: [value('y', [], 6)],
          },
          { opsetImport: [{ domain: '', version: 18n }] },
        );
        const { y } = fromOnnx(bytes).run({ x: kn.array([-3, 7], { dtype: 'int32' }) });
        assert.equal(y.dtype, 'int32');
        assert.deepEqual(y.tolist(), noop === 1 ? alone : expected, `${op}, noop ${noop}`);
      }
    }
  });
});
