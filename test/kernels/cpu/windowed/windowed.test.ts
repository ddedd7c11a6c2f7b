import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { symbol } from '../../../../src/base/dim/index.js';
import type { DType } from '../../../../src/base/dtype.js';
import { Program, type Value } from '../../../../src/ir/program.js';
import { onCpu } from '../../../../src/kernels/cpu/index.js';
import { avx2Target, avx512Target, relaxedWasmTarget, type Target, wasmTarget } from '../../../../src/loop/language/target.js'; // prettier-ignore
import {
  add, conv, type ConvOptions, convTranspose, convWeightGradient, relu, tanh,
} from '../../../../src/ops/index.js'; // prettier-ignore
import { fuse } from '../../../../src/passes/fuse/fuse.js';
import { lowerProgram, type ProgramPlan } from '../../../../src/passes/lower/main/plan.js';
import { runPipeline } from '../../../../src/passes/pipeline.js';
import { schedule } from '../../../../src/passes/plan/schedule.js';
import { compile } from '../../../../src/runtime/compile/compile.js';
import { Device } from '../../../../src/runtime/memory/device.js';
import type { Operand } from '../../../../src/runtime/execution/executable.js';
import { Executor } from '../../../../src/runtime/execution/executor.js';
import { indicesOf, numbersOf, randomOperand } from '../../../support/arrays.js';
import { assertClose } from '../../../support/close.js';
import { evaluate } from '../../../support/evaluate.js';
import { generator } from '../../../support/samples.js';
import { runTeam } from '../../../support/teams.js';

/** A convolution, its input and weights by their shapes. */
interface Case {
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly strides?: readonly number[];
  readonly dilation?: readonly number[];
  readonly padding?: readonly (readonly [number, number])[];
  readonly groups?: number;
}

type Geometry = Required<Case> & { readonly y: readonly number[] };

function geometryOf({ x, w, ...options }: Case): Geometry {
  const axes = x.length - 2;
  const each = <T>(value: T): T[] => Array.from({ length: axes }, () => value);
  const { strides = each(1), dilation = each(1), groups = 1 } = options;
  const padding = options.padding ?? each<[number, number]>([0, 0]);
  const count = x.slice(2).map((size, axis) => {
    const span = (w[axis + 2] - 1) * dilation[axis] + 1;
    return Math.floor((size + padding[axis][0] + padding[axis][1] - span) / strides[axis]) + 1;
  });
  return { x, w, y: [x[0], w[0], ...count], strides, dilation, padding, groups };
}

const optionsOf = ({ strides, dilation, padding, groups }: Geometry): ConvOptions => ({
  strides,
  dilation,
  padding,
  groups,
});

/** The sums of the definition, in float64 or what it is rounded to, one result after the other. */
function convolved(
  geometry: Geometry,
  xs: readonly number[],
  ws: readonly number[],
  round: (value: number) => number = Number,
): number[] {
  const { x, w, y, strides, dilation, padding, groups } = geometry;
  const taps = indicesOf(w.slice(1));
  return indicesOf(y).map(([image, output, ...place]) => {
    const first = Math.floor(output / (w[0] / groups)) * w[1];
    let sum = 0;
    for (const tap of taps) {
      // Positions of the element and of its weight, axis by axis.
      let element = image * x[1] + first + tap[0];
      let weight = output * w[1] + tap[0];
      let isInside = true;
      for (let axis = 0; axis < place.length; axis++) {
        const at = place[axis] * strides[axis] + tap[axis + 1] * dilation[axis] - padding[axis][0];
        isInside &&= at >= 0 && at < x[axis + 2];
        element = element * x[axis + 2] + at;
        weight = weight * w[axis + 2] + tap[axis + 1];
      }
      if (isInside) sum = round(sum + round(xs[element] * ws[weight]));
    }
    return sum;
  });
}

const pair = (low: number, high: number = low): readonly [number, number] => [low, high];

const cases: Readonly<Record<string, Case>> = {
  'three taps down': { x: [2, 8, 14, 13], w: [13, 8, 3, 3], padding: [pair(1), pair(1)] },
  'a last step that is not full': { x: [1, 9, 11, 21], w: [16, 9, 3, 3], padding: [pair(1), pair(1)] }, // prettier-ignore
  'three taps down, in groups': { x: [1, 16, 9, 18], w: [18, 8, 3, 2], groups: 2 },
  'three taps down, a stride across': { x: [1, 8, 8, 25], w: [12, 8, 3, 3], strides: [1, 2], dilation: [1, 3], padding: [pair(2, 0), pair(1, 3)] }, // prettier-ignore
  'three taps down in a volume': { x: [1, 8, 3, 7, 9], w: [9, 8, 2, 3, 3], padding: [pair(1), pair(1), pair(0, 2)] }, // prettier-ignore
  'strides of two': { x: [1, 5, 19, 20], w: [7, 5, 3, 3], strides: [2, 2], padding: [pair(1), pair(1)] }, // prettier-ignore
  'one tap and a stride': { x: [2, 6, 9, 12], w: [5, 6, 1, 1], strides: [2, 2] },
  'seven taps': {
    x: [1, 3, 23, 24],
    w: [4, 3, 7, 7],
    strides: [2, 2],
    padding: [pair(3), pair(3)],
  },
  'dilation and strides with a common divisor': { x: [1, 3, 25, 24], w: [4, 3, 3, 3], strides: [4, 2], dilation: [2, 2], padding: [pair(2), pair(3, 1)] }, // prettier-ignore
  'a channel of its own each': { x: [2, 10, 12, 17], w: [10, 1, 3, 3], groups: 10, padding: [pair(1), pair(1)] }, // prettier-ignore
  'two results of each channel': { x: [1, 6, 7, 9], w: [12, 1, 5, 5], groups: 6, padding: [pair(2), pair(2)] }, // prettier-ignore
  'rows that are cut': { x: [1, 2, 1301], w: [3, 2, 5], padding: [pair(2)] },
  'cut rows with a stride': { x: [1, 2, 1500], w: [3, 2, 4], strides: [2], padding: [pair(3, 1)] },
  'a stride wider than the window': { x: [2, 3, 40, 61], w: [4, 3, 2, 3], strides: [7, 20], padding: [pair(1), pair(2, 5)] }, // prettier-ignore
  'taps further apart than strides': { x: [1, 3, 30, 50], w: [4, 3, 2, 3], strides: [3, 4], dilation: [5, 7], padding: [pair(4), pair(6)] }, // prettier-ignore
  'a long window and many remainders': { x: [1, 2, 9, 200], w: [3, 2, 2, 40], strides: [1, 16], padding: [pair(1), pair(17, 21)] }, // prettier-ignore
  'many remainders of rows that are cut': { x: [1, 1, 5800], w: [3, 1, 25], strides: [10], dilation: [3], padding: [pair(40, 60)] }, // prettier-ignore
  'padding wider than the input': { x: [1, 2, 3, 2], w: [2, 2, 3, 3], padding: [pair(5, 4), pair(6, 3)] }, // prettier-ignore
  'many channels': { x: [1, 190, 5, 6], w: [3, 190, 2, 3], padding: [pair(1), pair(1)] },
  'one result': { x: [1, 4, 3, 3], w: [5, 4, 3, 3] },
  'no images': { x: [0, 4, 6, 6], w: [5, 4, 3, 3] },
  'no channels': { x: [2, 0, 6, 6], w: [5, 0, 3, 3] },
};

const targets: readonly Target[] = [wasmTarget, relaxedWasmTarget, avx2Target, avx512Target];

function planOf(program: Program, target: Target, threads: number = 1): ProgramPlan {
  const lowest = runPipeline(program);
  const groups = schedule(lowest, fuse(lowest));
  return lowerProgram(lowest, groups, onCpu(target), [], { threads, grain: 1 });
}

/** Runs a program as one of its targets would, by the interpreter; threads in the given order. */
function interpreted(
  program: Program,
  operands: readonly Operand[],
  target: Target,
  order: readonly number[] = [0],
): readonly (readonly number[])[] {
  const plan = planOf(program, target, order.length);
  assert.equal(plan.threads, order.length);
  const device = new Device();
  const executor = new Executor(program, plan, device, (table) =>
    runTeam(plan.module, device.buffer, table, order),
  );
  return executor.run(operands).map(numbersOf);
}

function programOf(operands: readonly Operand[], build: (...values: Value[]) => Value): Program {
  const program = new Program();
  const values = operands.map(({ shape, storage: { dtype } }, i) =>
    program.variable(`x${i}`, { dtype, shape }),
  );
  program.setOutputs([{ name: 'y', value: build(...values) }]);
  return program;
}

const tolerances: Readonly<Partial<Record<DType, number>>> = { float32: 2e-5, float64: 1e-12 };

describe('convolutions are the sums of the definition', () => {
  const random = generator(37);
  for (const [name, plain] of Object.entries(cases)) {
    it(name, () => {
      const geometry = geometryOf(plain);
      for (const dtype of ['float32', 'float64', 'int32'] as const) {
        const operands = [geometry.x, geometry.w].map((shape) => randomOperand(random, shape, dtype)); // prettier-ignore
        const [xs, ws] = operands.map(numbersOf);
        const [y] = evaluate(operands, (x, w) => conv(x, w, optionsOf(geometry)));
        assert.deepEqual(y.shape, geometry.y);
        assertClose(numbersOf(y), convolved(geometry, xs, ws), tolerances[dtype] ?? 0, dtype);
      }
    });
  }
});

describe('the adjoints of a convolution move its sum onto the other operand', () => {
  const random = generator(41);
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, i) => sum + value * b[i], 0);
  for (const [name, plain] of Object.entries(cases)) {
    it(name, () => {
      // <conv(x, w), g> = <x, adjoint(g)> = <w, adjoint(g)> for every x, w and g.
      const geometry = geometryOf(plain);
      const [x, w, g] = [geometry.x, geometry.w, geometry.y].map((shape) =>
        randomOperand(random, shape, 'float64'),
      );
      const options = optionsOf(geometry);
      const [dx, dw] = evaluate([x, w, g], (x, w, g) => [
        convTranspose(g, w, { ...options, size: geometry.x.slice(2) }),
        convWeightGradient(x, g, { ...options, kernel: geometry.w.slice(2) }),
      ]);
      const [xs, ws, gs] = [x, w, g].map(numbersOf);
      const expected = dot(convolved(geometry, xs, ws), gs);
      assertClose([dot(xs, numbersOf(dx)), dot(ws, numbersOf(dw))], [expected, expected], 1e-10);
    });
  }
});

describe('loops for every processor', () => {
  const random = generator(43);
  for (const [name, plain] of Object.entries(cases)) {
    const geometry = geometryOf(plain);
    if (geometry.x.includes(0) || geometry.x.includes(190)) continue; // the interpreter is slow
    it(name, () => {
      const operands = [geometry.x, geometry.w].map((shape) =>
        randomOperand(random, shape, 'float32'),
      );
      const [xs, ws] = operands.map(numbersOf);
      const program = programOf(operands, (x, w) => conv(x, w, optionsOf(geometry)));
      for (const target of targets) {
        const [found] = interpreted(program, operands, target);
        assertClose(found, convolved(geometry, xs, ws), 2e-5, target.name);
      }
    });
  }
});

describe('threads', () => {
  const random = generator(47);
  for (const name of ['three taps down', 'strides of two', 'rows that are cut']) {
    it(`divide blocks and change no bit: ${name}`, () => {
      const geometry = geometryOf(cases[name]);
      const operands = [geometry.x, geometry.w].map((shape) =>
        randomOperand(random, shape, 'float32'),
      );
      const program = programOf(operands, (x, w) => conv(x, w, optionsOf(geometry)));
      for (const target of [wasmTarget, avx512Target]) {
        const alone = interpreted(program, operands, target);
        for (const order of [[1, 0], [2, 0, 1]]) {
          assert.deepEqual(interpreted(program, operands, target, order), alone);
        } // prettier-ignore
      }
    });
  }
});

describe('forms of convolutions', () => {
  const memoryOf = (plain: Case, dtype: DType): string => {
    const geometry = geometryOf(plain);
    const { x, w } = geometry;
    const program = new Program();
    const [input, weights] = [x, w].map((shape, i) => program.variable(`x${i}`, { dtype, shape }));
    program.setOutputs([{ name: 'y', value: conv(input, weights, optionsOf(geometry)) }]);
    const { module } = planOf(program, wasmTarget);
    return module.kernels.flatMap(({ params }) => params.map((param) => param.name)).join(' ');
  };
  const large: Case = { x: [1, 32, 28, 28], w: [32, 32, 3, 3], padding: [pair(1), pair(1)] };

  it('spare products where there are fractions, three taps down, and enough of both', () => {
    assert.match(memoryOf(large, 'float32'), /weightPoints/);
    assert.match(memoryOf({ x: [1, 16, 4, 12, 12], w: [16, 16, 2, 3, 2] }, 'float64'), /weightPoints/); // prettier-ignore
    assert.doesNotMatch(memoryOf(large, 'int32'), /weightPoints/);
    assert.doesNotMatch(memoryOf({ ...large, strides: [2, 1] }, 'float32'), /weightPoints/);
    assert.doesNotMatch(memoryOf({ x: [1, 512, 3, 3], w: [512, 512, 3, 3] }, 'float32'), /weightPoints/); // prettier-ignore
  });

  it('err little more than the sums of the definition', () => {
    const random = generator(53);
    const geometry = geometryOf({ ...large, x: [1, 32, 12, 12] });
    const operands = [geometry.x, geometry.w].map((shape) =>
      randomOperand(random, shape, 'float32'),
    );
    const [xs, ws] = operands.map(numbersOf);
    const exact = convolved(geometry, xs, ws);
    const rounded = convolved(geometry, xs, ws, Math.fround);
    const [y] = evaluate(operands, (x, w) => conv(x, w, optionsOf(geometry)));
    const errorOf = (values: readonly number[]): number =>
      values.reduce((sum, value, i) => sum + (value - exact[i]) ** 2, 0) ** 0.5;
    assert.ok(errorOf(numbersOf(y)) < 2.5 * errorOf(rounded));
  });
});

describe('symbolic sizes', () => {
  const random = generator(59);
  const run = (shape: readonly (number | string)[], w: readonly number[], options: Case): void => {
    const dims = shape.map((dim) => (typeof dim === 'string' ? symbol(dim, { min: dim === 'n' ? 0 : 2 }) : dim)); // prettier-ignore
    const program = new Program();
    const x = program.variable('x', { dtype: 'float32', shape: dims });
    const weights = program.variable('w', { dtype: 'float32', shape: w });
    const { strides, padding } = geometryOf({ ...options, w });
    program.setOutputs([{ name: 'y', value: conv(x, weights, { strides, padding }) }]);
    const executable = compile(program);
    for (const sizes of [
      { n: 2, h: 9, w: 13 },
      { n: 1, h: 2, w: 2 },
      { n: 0, h: 3, w: 4 },
      { n: 1, h: 21, w: 37 },
    ]) {
      // prettier-ignore
      const bound = shape.map((dim) => (typeof dim === 'string' ? sizes[dim as 'n'] : dim));
      const geometry = geometryOf({ ...options, x: bound, w });
      const operands = [bound, w].map((extents) => randomOperand(random, extents, 'float32'));
      const [xs, ws] = operands.map(numbersOf);
      const [y] = executable.run(operands);
      assert.deepEqual(y.shape, geometry.y);
      assertClose(numbersOf(y), convolved(geometry, xs, ws), 2e-5, bound.join());
    }
  };
  const padding = [pair(1), pair(1)];
  it('of the batch', () =>
    run(['n', 8, 9, 12], [9, 8, 3, 3], { x: [1, 8, 9, 12], w: [], padding }));
  it('of the height', () => run(['n', 8, 'h', 12], [9, 8, 3, 3], { x: [1, 8, 9, 12], w: [], padding })); // prettier-ignore
  it('of height and width', () => run(['n', 3, 'h', 'w'], [5, 3, 3, 3], { x: [1, 3, 9, 9], w: [], padding })); // prettier-ignore
  it('with strides', () => run(['n', 3, 'h', 'w'], [5, 3, 3, 3], { x: [1, 3, 9, 9], w: [], padding, strides: [2, 2] })); // prettier-ignore
  it('with many remainders', () => run(['n', 2, 'h', 'w'], [3, 2, 2, 13], { x: [1, 2, 9, 9], w: [], padding: [pair(1), pair(12, 14)], strides: [1, 11] })); // prettier-ignore
});

describe('what surrounds a convolution', () => {
  const random = generator(61);
  for (const name of ['three taps down', 'strides of two', 'a channel of its own each']) {
    it(`is computed with it: ${name}`, () => {
      const geometry = geometryOf(cases[name]);
      const shapes = [geometry.x, geometry.w, [geometry.w[0], 1, 1], geometry.y];
      const operands = shapes.map((shape) => randomOperand(random, shape, 'float32'));
      const [xs, ws, bias, rest] = operands.map(numbersOf);
      const [y] = evaluate(operands, (x, w, b, r) =>
        relu(add(add(conv(tanh(x), w, optionsOf(geometry)), b), r)),
      );
      const sums = convolved(geometry, xs.map(Math.tanh), ws);
      const [, outputs, ...count] = geometry.y;
      const places = count.reduce((product, extent) => product * extent);
      const expected = sums.map((sum, i) =>
        Math.max(0, sum + bias[Math.floor(i / places) % outputs] + rest[i]),
      );
      assertClose(numbersOf(y), expected, 2e-5);
    });
  }

  it('may be of another dtype', () => {
    const geometry = geometryOf(cases['three taps down']);
    for (const dtype of ['float16', 'int8'] as const) {
      const operands = [geometry.x, geometry.w].map((shape) => randomOperand(random, shape, dtype));
      const [xs, ws] = operands.map(numbersOf);
      const [y] = evaluate(operands, (x, w) => conv(x, w, optionsOf(geometry)));
      const exact = convolved(geometry, xs, ws);
      if (dtype === 'int8') assert.deepEqual(numbersOf(y), [...Int8Array.from(exact)]);
      else assertClose(numbersOf(y), exact, 2 ** -10);
    }
  });
});
