import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { namedInputs, Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { verify } from '../../../src/ir/verify.js';
import { add, fullLike, gelu, matmul, mul, sin, square, sum } from '../../../src/ops/index.js';
import { gradient } from '../../../src/passes/gradient/gradient.js';
import { jointProgram } from '../../../src/passes/gradient/joint.js';
import { runPipeline } from '../../../src/passes/pipeline.js';
import { rematerialize, type SavePolicy } from '../../../src/passes/gradient/rematerialize.js';
import { instantiate } from '../../../src/passes/rewrite/transform.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { CompileOptions, Operand } from '../../../src/runtime/execution/executable.js';
import { arenaBytes } from '../../support/arena.js';
import { numbersOf } from '../../support/arrays.js';
import { floats, operand, programOf } from '../../support/programs.js';
import { spelledProgram } from '../../support/random-programs.js';

const f32 = (...shape: number[]) => ({ dtype: 'float32', shape }) as const;

/** A program with the gradients of its first output in one, and where the backward pass begins. */
function whole(forward: Program): { readonly program: Program; readonly first: number } {
  let first = 0;
  const program = Program.from(forward, (into) => {
    const inputs = namedInputs(forward).map(({ name, type }) => into.variable(name, type));
    const outputs = instantiate(forward, into, inputs);
    first = into.graph.nodeCount;
    const grads = gradient<Value>({
      program: into,
      outputs: [{ value: outputs[0], grad: fullLike(outputs[0], 1) }],
      wrt: inputs,
      valueOf: (value) => value,
      add: (a, b) => add<Value>(a, b),
    });
    const flowing = grads.flatMap((value, k) => (value === null ? [] : [{ name: `g${k}`, value }]));
    into.setOutputs([{ name: 'y', value: outputs[0] }, ...flowing]);
  });
  return { program, first };
}

const depth = 16;
const unit = 4 * 256 * 64;

/** Layers over one activation of `unit` bytes each, and the sum of squares of the last. */
function deep(layer: (h: Value, w: Value) => Value): Program {
  const weights = Array.from({ length: depth }, (_, i) => [`w${i}`, f32(64, 64)] as const);
  const inputs: Readonly<Record<string, TensorType>> = {
    x: f32(256, 64),
    ...Object.fromEntries(weights),
  };
  return programOf(inputs, (values) => {
    let h = values['x'];
    for (let i = 0; i < depth; i++) h = layer(h, values[`w${i}`]);
    return { loss: sum(square(h)) };
  });
}

const choices = fc.array(fc.tuple(fc.nat(1000), fc.nat(5), fc.nat(8), fc.nat(3)), {
  minLength: 3,
  maxLength: 20,
});

/** Whole numbers or fractions for the five inputs of a spelled program. */
const inputsOf = (dtype: 'float32' | 'float64', element: (k: number, i: number) => number) =>
  [[3, 5], [5], [3, 1], [], [3, 5]].map((shape, k): Operand => {
    const size = shape.reduce((a, b) => a * b, 1);
    return operand(
      dtype,
      shape,
      Array.from({ length: size }, (_, i) => element(k, i)),
    );
  });

const spelled = (kinds: Parameters<typeof spelledProgram>[2], dtype: 'float32' | 'float64') =>
  choices.map((list) => whole(spelledProgram(dtype, [3, 5], kinds, list)));

/** Checks that every policy gives the very same bits. */
function sameBits(
  { program, first }: ReturnType<typeof whole>,
  inputs: readonly Operand[],
  options: CompileOptions,
): void {
  const run = (policy: SavePolicy): readonly number[][] => {
    const chosen = rematerialize(program, (id) => id >= first, policy);
    verify(chosen);
    return compile(chosen, options).run(inputs).map(numbersOf);
  };
  const expected = run('all');
  for (const policy of ['auto', 'none', 60] as const) assert.deepEqual(run(policy), expected);
}

test('no policy changes a bit of what random programs and their gradients compute', () => {
  const inputs = inputsOf('float32', (k, i) => Math.sin(k + 1.7 * i));
  fc.assert(
    // Operator by operator, so that nothing but the program decides what is rounded where.
    fc.property(spelled(['exact', 'folding', 'moving', 'rounding'], 'float32'), (one) =>
      sameBits(one, inputs, { fuse: false }),
    ),
    { seed: 20261121, numRuns: 50 },
  );
});

test('nor when it is fused', () => {
  const inputs = inputsOf('float64', (k, i) => ((7 * i + 3 * k) % 9) - 4);
  fc.assert(
    fc.property(spelled(['exact', 'folding', 'moving'], 'float64'), (one) =>
      sameBits(one, inputs, {}),
    ),
    { seed: 20261122, numRuns: 30 },
  );
});

test('a deep program in one piece takes less memory, whatever the passes after it do', () => {
  const layers = deep((h, w) => gelu(matmul(h, w)));
  const { program, first } = whole(layers);
  const arena = (policy: SavePolicy): number =>
    arenaBytes(rematerialize(program, (id) => id >= first, policy)) / unit;
  assert.ok(arena('all') >= 2 * depth, 'products and activations');
  assert.ok(arena('auto') <= depth + 4, 'products only');
  // Four of sixteen layers, and the four of one segment with their products.
  assert.ok(arena(4 * unit) <= 4 + 2 * 4 + 3, String(arena(4 * unit)));
});

test('what is computed again waits, even where the forward pass needs more memory next', () => {
  // From 64 columns to 256 and back: the narrow activation is a smaller thing to write than a wide product.
  const inputs: Record<string, TensorType> = { x: f32(256, 64) };
  for (let i = 0; i < depth; i++) {
    inputs[`w${i}`] = f32(64, 256);
    inputs[`v${i}`] = f32(256, 64);
  }
  const { program, first } = whole(
    programOf(inputs, (values) => {
      let h = values['x'];
      for (let i = 0; i < depth; i++) {
        h = gelu(matmul(gelu(matmul(h, values[`w${i}`])), values[`v${i}`]));
      }
      return { loss: sum(square(h)) };
    }),
  );
  const arena = (policy: SavePolicy): number =>
    arenaBytes(rematerialize(program, (id) => id >= first, policy)) / unit;
  assert.ok(arena('all') >= 2 * 5 * depth);
  assert.ok(arena('auto') <= 5 * depth + 12, String(arena('auto')));
});

test('a deep program in two pieces hands over less', () => {
  const cases: readonly [string, Program, readonly [SavePolicy, number][]][] = [
    ['dense', deep((h, w) => gelu(matmul(h, w))), [['all', 2 * depth], ['auto', depth], [4 * unit, 4], ['none', 0]]],
    // A chain of cheap calls is kept at intervals.
    ['elementwise', deep((h, w) => mul(sin(h), sum(w))), [['auto', depth / 4], [unit, 1], ['none', 0]]],
  ]; // prettier-ignore
  for (const [name, program, expected] of cases) {
    for (const [policy, units] of expected) {
      const wrt = program.inputs.map(() => true);
      const { forward, outputs } = jointProgram(program, wrt, undefined, policy);
      const saved = forward.outputs
        .slice(outputs)
        .reduce((bytes, { value }) => bytes + 4 * numberOfElements(value), 0);
      assert.ok(saved <= units * unit + 4 * depth, `${name}, ${policy}: ${saved / unit} units`);
      assert.ok(arenaBytes(forward) <= (units + 2) * unit + 64 * 2 * depth);
    }
  }
});

function numberOfElements({ type }: Value): number {
  return type.shape.reduce<number>((size, dim) => size * Number(dim), 1);
}

test('what is computed again is neither found equal to the first time nor computed early', () => {
  const forward = programOf({ x: f32(4, 4), w: f32(4, 4) }, ({ x, w }) => ({
    y: sum(gelu(matmul(gelu(matmul(x, w)), w))),
  }));
  const { program, first } = whole(forward);
  const count = (one: Program, name: string): number =>
    [...one.graph.nodes()].filter((id) => {
      const node = one.node(id);
      return node.kind === 'call' && node.op.name === name;
    }).length;
  const again = rematerialize(program, (id) => id >= first, 'none');
  const [before, after] = [runPipeline(program), runPipeline(again)];
  // The second product is read by the derivative of gelu, the first one and its gelu by what is before.
  assert.equal(count(after, 'gelu'), count(before, 'gelu') + 1);
  assert.ok(count(after, 'matmul') === count(before, 'matmul') + 2);
});

test('what follows the backward pass belongs to it', () => {
  const forward = programOf({ x: f32(4, 4), w: f32(4, 4) }, ({ x, w }) => ({
    loss: sum(gelu(matmul(gelu(matmul(x, w)), w))),
  }));
  const { program, first } = whole(forward);
  // An update that reads a gradient and an activation.
  const last = program.graph.nodeCount;
  const [, , grad] = program.outputs.map(({ value }) => value);
  const update = add(grad, gelu(matmul(program.inputs[0], program.inputs[1])));
  program.setOutputs([...program.outputs, { name: 'update', value: update }]);
  const isBackward = (id: number): boolean => id >= first && id < last;
  const inputs = [floats([4, 4], Array.from({ length: 16 }, (_, i) => i / 7 - 1)), floats([4, 4], Array.from({ length: 16 }, (_, i) => 1 - i / 5))]; // prettier-ignore
  const results = (['all', 'auto', 'none'] as const).map((policy) => {
    const chosen = rematerialize(program, isBackward, policy);
    verify(chosen);
    return compile(chosen, { fuse: false }).run(inputs).map(numbersOf);
  });
  assert.deepEqual(results[1], results[0]);
  assert.deepEqual(results[2], results[0]);
});

test('nothing to gain: the program itself', () => {
  const { program, first } = whole(programOf({ x: f32(4) }, ({ x }) => ({ y: sum(mul(x, 3)) })));
  assert.equal(
    rematerialize(program, (id) => id >= first, 'none'),
    program,
  );
  const { program: dense, first: begin } = whole(deep((h, w) => gelu(matmul(h, w))));
  assert.equal(
    rematerialize(dense, (id) => id >= begin, 'all'),
    dense,
  );
  assert.equal(
    rematerialize(dense, (id) => id >= begin, 1e9),
    dense,
  );
});
