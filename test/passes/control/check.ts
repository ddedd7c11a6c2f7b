import assert from 'node:assert/strict';
import { isFloat } from '../../../src/base/dtype.js';
import type { Program } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import { backwardProgram, floatOutputs } from '../../../src/passes/gradient/gradient.js';
import { type JointProgram, jointProgram } from '../../../src/passes/gradient/joint.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { assertClose } from '../../support/close.js';
import { random } from './random.js';
import { run, unroll } from './unroll.js';

/** Which inputs have a gradient taken, and which outputs have one given. */
export interface Question {
  readonly wrt?: readonly boolean[];
  readonly flows?: readonly boolean[];
}

export function expectSame(
  actual: readonly Operand[],
  expected: readonly Operand[],
  what: string,
): void {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((array, k) => {
    assert.deepEqual(array.shape, expected[k].shape, `${what}: shape of ${k}`);
    assert.equal(array.storage.dtype, expected[k].storage.dtype);
    assertClose(numbersOf(array), numbersOf(expected[k]), 1e-9, `${what}: array ${k}`);
  });
}

/** Gradients for the outputs of a program. */
export function seedsFor(
  outputs: readonly Operand[],
  flows: readonly boolean[],
  seed: number,
): readonly Operand[] {
  const next = random(seed);
  return outputs
    .filter((_, k) => flows[k])
    .map(({ shape, storage }) => randomOperand(next, shape, storage.dtype));
}

/**
 * Checks the gradients of a program against those of the program that it is when all iterations are
 * written out, in every form in which a gradient is derived, and then the gradients of the gradients.
 */
export function checkGradients(
  program: Program,
  inputs: readonly Operand[],
  { wrt = floatInputs(program), flows = floatOutputs(program) }: Question = {},
  order = 2,
): void {
  verify(program);
  const { outputs, program: flat } = unroll(program, inputs);
  const seeds = seedsFor(outputs, flows, 17);
  const backward = backwardProgram(program, wrt, flows);
  verify(backward);
  const expected = run(backwardProgram(flat, wrt, flows), [...inputs, ...seeds]);
  expectSame(run(backward, [...inputs, ...seeds]), expected, 'backward alone');
  for (const save of ['all', 'none', 'auto'] as const) {
    const joint = jointProgram(program, wrt, flows, save);
    verify(joint.forward);
    verify(joint.backward);
    const both = runJoint(joint, inputs, seeds);
    expectSame(both.outputs, outputs, `forward, saving ${save}`);
    const wanted = expectedOf(joint, wrt, expected);
    expectSame(both.grads, wanted.given, `backward, saving ${save}`);
    for (const each of wanted.others) assert.ok(numbersOf(each).every((x) => x === 0));
  }
  if (order < 2) return;
  const again = [...wrt, ...seeds.map(() => true)];
  const second = backwardProgram(backward, again);
  verify(second);
  const grads = seedsFor(expected, floatOutputs(backward), 23);
  expectSame(
    run(second, [...inputs, ...seeds, ...grads]),
    run(backwardProgram(backwardProgram(flat, wrt, flows), again), [...inputs, ...seeds, ...grads]),
    'gradients of gradients',
  );
}

/** Checks that the compiled gradients, and those of gradients, are the numbers of the walk. */
export function checkCompiled(program: Program, inputs: readonly Operand[]): void {
  const wrt = floatInputs(program);
  const backward = backwardProgram(program, wrt);
  const seeds = seedsFor(run(program, inputs), floatOutputs(program), 19);
  const first = [...inputs, ...seeds];
  const grads = run(backward, first);
  expectSame(compile(backward).run(first), grads, 'compiled');
  const second = backwardProgram(backward, [...wrt, ...seeds.map(() => true)]);
  const all = [...first, ...seedsFor(grads, floatOutputs(backward), 37)];
  expectSame(compile(second).run(all), run(second, all), 'gradients of gradients, compiled');
}

export function runJoint(
  joint: JointProgram,
  inputs: readonly Operand[],
  seeds: readonly Operand[],
): { readonly outputs: readonly Operand[]; readonly grads: readonly Operand[] } {
  const made = run(joint.forward, inputs);
  const held = [...inputs, ...made];
  const given = [...joint.saved.map((place) => held[place]), ...seeds];
  const sizes = joint.sizes.map(({ place, axis }) => held[place].shape[axis]);
  return { outputs: made.slice(0, joint.outputs), grads: run(joint.backward, given, sizes) };
}

/** What backward gives of gradients that one program gives all of, and those it says are none. */
function expectedOf(
  { gives }: JointProgram,
  wrt: readonly boolean[],
  grads: readonly Operand[],
): { readonly given: readonly Operand[]; readonly others: readonly Operand[] } {
  const inputs = wrt.flatMap((wanted, k) => (wanted ? [k] : []));
  return {
    given: grads.filter((_, i) => gives.includes(inputs[i])),
    others: grads.filter((_, i) => !gives.includes(inputs[i])),
  };
}

export function floatInputs(program: Program): readonly boolean[] {
  return program.inputs.map(({ type }) => isFloat(type.dtype));
}

/** Checks first and second derivatives along random directions against central differences. */
export function checkDifferences(program: Program, inputs: readonly Operand[]): void {
  const wrt = floatInputs(program);
  const first = backwardProgram(program, wrt);
  const seeds = seedsFor(run(program, inputs), floatOutputs(program), 5);
  alongDirection(program, first, inputs, wrt, seeds);
  const again = [...wrt, ...seeds.map(() => true)];
  const outer = seedsFor(run(first, [...inputs, ...seeds]), floatOutputs(first), 7);
  alongDirection(first, backwardProgram(first, again), [...inputs, ...seeds], again, outer);
}

function alongDirection(
  program: Program,
  backward: Program,
  inputs: readonly Operand[],
  wrt: readonly boolean[],
  seeds: readonly Operand[],
): void {
  const next = random(11);
  const moving = inputs.filter((_, k) => wrt[k]);
  const along = moving.map(({ shape }) => randomOperand(next, shape));
  const value = (step: number): number => {
    let i = 0;
    const moved = inputs.map((input, k) => (wrt[k] ? shifted(input, along[i++], step) : input));
    const outputs = run(program, moved).filter((_, k) => floatOutputs(program)[k]);
    return outputs.reduce((sum, output, k) => sum + dot(output, seeds[k]), 0);
  };
  const grads = run(backward, [...inputs, ...seeds]);
  const slope = grads.reduce((sum, grad, k) => sum + dot(grad, along[k]), 0);
  const h = 1e-5;
  assertClose([(value(h) - value(-h)) / (2 * h)], [slope], 1e-6, 'along a direction');
}

function shifted(x: Operand, along: Operand, step: number): Operand {
  const host = Float64Array.from(numbersOf(x), (each, i) => each + step * numbersOf(along)[i]);
  return { storage: new Storage(x.storage.dtype, host), shape: x.shape };
}

function dot(a: Operand, b: Operand): number {
  const other = numbersOf(b);
  return numbersOf(a).reduce((sum, each, i) => sum + each * other[i], 0);
}
