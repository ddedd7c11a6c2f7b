import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program, type Value } from '../../src/ir/program.js';
import type { TensorType } from '../../src/ir/types.js';
import { add, div, matmul, mean, mul, relu, sqrt, square, sub } from '../../src/ops/index.js';
import { onCpu } from '../../src/kernels/cpu/index.js';
import { wasmTarget } from '../../src/loop/language/target.js';
import { fuse } from '../../src/passes/fuse/fuse.js';
import { gradient } from '../../src/passes/gradient/gradient.js';
import { lowerProgram, placeBytes, type ProgramPlan } from '../../src/passes/lower/main/plan.js';
import { planMemory } from '../../src/passes/plan/memory.js';
import { runPipeline } from '../../src/passes/pipeline.js';
import { schedule } from '../../src/passes/plan/schedule.js';
import { compile } from '../../src/runtime/compile/compile.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { elementsOf, floats } from '../support/programs.js';

const layers = 50;
const batch = 4;
const width = 24;

/** The new value of a parameter, then those of what the optimizer remembers of it. */
type Update = (parameter: Value, gradient: Value, state: readonly Value[]) => readonly Value[];

const sgd: Update = (w, g) => [sub(w, mul(g, 0.01))];

const adam: Update = (w, g, [m, v]) => {
  const mean = add(mul(m, 0.9), mul(g, 0.1));
  const variance = add(mul(v, 0.999), mul(square(g), 0.001));
  return [sub(w, div(mul(mean, 0.01), add(sqrt(variance), 1e-8))), mean, variance];
};

/** One step of training a network of dense layers; every output but the first replaces an input. */
function trainingStep(
  states: number,
  update: Update,
): { readonly program: Program; readonly replaced: readonly (number | null)[] } {
  const program = new Program();
  const x = program.variable('x', { dtype: 'float32', shape: [batch, width] });
  const types: TensorType[] = Array.from({ length: 2 * layers }, (_, i) => ({
    dtype: 'float32',
    shape: i % 2 === 0 ? [width, width] : [width],
  }));
  const parameters = types.map((type, i) => program.variable(`p${i}`, type));
  const remembered = types.map((type, i) =>
    Array.from({ length: states }, (_, k) => program.variable(`s${i}_${k}`, type)),
  );
  let hidden: Value = x;
  for (let i = 0; i < 2 * layers; i += 2) {
    hidden = relu(add(matmul(hidden, parameters[i]), parameters[i + 1]));
  }
  const loss = mean(hidden);
  const gradients = gradient<Value>({
    program,
    outputs: [
      {
        value: loss,
        grad: program.constant({ type: { dtype: 'float32', shape: [] }, data: Float32Array.of(1) }),
      },
    ],
    wrt: parameters,
    valueOf: (value) => value,
    add,
  });
  const outputs = [{ name: 'loss', value: loss }];
  const replaced: (number | null)[] = [null];
  parameters.forEach((parameter, i) => {
    update(parameter, gradients[i]!, remembered[i]).forEach((value, k) => {
      outputs.push({ name: `next${i}_${k}`, value });
      replaced.push(program.inputs.indexOf(k === 0 ? parameter : remembered[i][k - 1]));
    });
  });
  program.setOutputs(outputs);
  return { program, replaced };
}

function planOf({ program, replaced }: ReturnType<typeof trainingStep>): ProgramPlan {
  const lowest = runPipeline(program);
  return lowerProgram(lowest, schedule(lowest, fuse(lowest)), onCpu(wasmTarget), replaced);
}

/** Bytes of everything but inputs, laid out by when it is needed. */
function arenaBytes({ places }: ProgramPlan): number {
  const temporaries = places.filter(({ role }) => role.kind !== 'input');
  return planMemory(
    temporaries.map((place) => ({
      bytes: placeBytes(place, Number(place.length)),
      first: place.first,
      last: place.last,
    })),
  ).bytes;
}

function operands({ inputs }: Program): Operand[] {
  return inputs.map(({ type }, i) => {
    const shape = type.shape.map(Number);
    const length = shape.reduce((product, extent) => product * extent, 1);
    const scale = 1 / width; // so that activations neither grow nor vanish from layer to layer
    return floats(
      shape,
      Array.from({ length }, (_, k) => (1 + Math.sin(i + 1.7 * k)) * scale),
    );
  });
}

for (const [name, states, update] of [['SGD', 0, sgd], ['Adam', 2, adam]] as const) {
  test(`${name} updates a hundred parameters where they lie`, () => {
    const step = trainingStep(states, update);
    const plan = planOf(step);
    step.replaced.forEach((input, k) => {
      if (input === null) return;
      const source = plan.outputs[k];
      assert.ok(source.kind === 'place', `output ${k} is copied`);
      const { role, taken } = plan.places[source.place];
      assert.deepEqual(role, { kind: 'input', index: input });
      assert.equal(taken?.output, k);
    });
    // Activations, which backward needs, and the gradients of a layer or two, but never of all layers.
    const matrix = 4 * width * width;
    const activations = layers * (4 * batch * width + 64);
    assert.ok(arenaBytes(plan) < activations + 4 * matrix);
  });

  test(`${name} in place gives the results of ${name} out of place`, () => {
    const { program, replaced } = trainingStep(states, update);
    const outOfPlace = compile(program);
    const inPlace = compile(program, { replaced });
    const given = operands(program);
    const pinned = operands(program);
    for (const { storage } of pinned.slice(1)) storage.pin();
    const into = replaced.map((input) => (input === null ? null : pinned[input].storage));
    for (let round = 0; round < 3; round++) {
      const results = outOfPlace.run(given);
      const [loss] = inPlace.run(pinned, into);
      assert.deepEqual(elementsOf(loss), elementsOf(results[0]));
      replaced.forEach((input, k) => {
        if (input === null) return;
        assert.deepEqual(elementsOf(pinned[input]), elementsOf(results[k]));
        given[input] = results[k];
      });
    }
    assert.notDeepEqual(elementsOf(given[1]), elementsOf(operands(program)[1]));
    for (const { storage } of pinned.slice(1)) storage.unpin();
  });
} // prettier-ignore
