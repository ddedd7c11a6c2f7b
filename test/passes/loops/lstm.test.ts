import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { type CallNode, Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { verify } from '../../../src/ir/verify.js';
import {
  add,
  foreach,
  matmul,
  mul,
  sigmoid,
  slice,
  square,
  sum,
  tanh,
} from '../../../src/ops/index.js';
import { backwardProgram } from '../../../src/passes/gradient/gradient.js';
import { passes, runPipeline } from '../../../src/passes/pipeline.js';
import { compile, evaluateConstant } from '../../../src/runtime/compile/compile.js';
import { numbersOf } from '../../support/arrays.js';
import { agree, counts, inputsOf, run } from './support.js';

const [inputs, hidden, outputs] = [3, 4, 2];

/** One step of a long short-term memory, and a projection of its output. */
function cell(): Program {
  const body = new Program();
  const batch = symbol('b');
  const variable = (name: string, ...shape: TensorType['shape'][number][]): Value =>
    body.variable(name, { dtype: 'float64', shape });
  const x = variable('x', batch, inputs);
  const [h, c] = ['h', 'c'].map((name) => variable(name, batch, hidden));
  const w = variable('w', inputs, 4 * hidden);
  const u = variable('u', hidden, 4 * hidden);
  const bias = variable('bias', 4 * hidden);
  const v = variable('v', hidden, outputs);
  const gates = add(add(matmul(x, w), bias), matmul(h, u));
  const gate = (k: number): Value => slice(gates, ':', [k * hidden, (k + 1) * hidden]);
  const [input, forget, output] = [0, 1, 2].map((k) => sigmoid(gate(k)));
  const memory = add(mul(forget, c), mul(input, tanh(gate(3))));
  const next = mul(output, tanh(memory));
  body.setOutputs([
    { name: 'y', value: matmul(next, v) },
    { name: 'h', value: next },
    { name: 'c', value: memory },
  ]);
  return body;
}

/** A loss of all outputs and final states of the cell over time. */
function lstm(time: number | null): Program {
  const program = new Program();
  const [length, batch] = [time ?? symbol('t'), symbol('b')];
  const variable = (name: string, ...shape: TensorType['shape'][number][]): Value =>
    program.variable(name, { dtype: 'float64', shape });
  const x = variable('x', length, batch, inputs);
  const states = ['h', 'c'].map((name) => variable(name, batch, hidden));
  const captures = [
    variable('w', inputs, 4 * hidden),
    variable('u', hidden, 4 * hidden),
    variable('bias', 4 * hidden),
    variable('v', hidden, outputs),
  ];
  const [y, h, c] = foreach<Value>(cell(), { data: [x], states, captures });
  const loss = add(add(sum(square(y)), sum(h)), sum(mul(c, 2)));
  program.setOutputs([
    { name: 'loss', value: loss },
    { name: 'y', value: y },
  ]);
  return program;
}

function loopsOf(program: Program): readonly CallNode[] {
  return [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' && node.regions.length > 0 ? [node] : [];
  });
}

const optimized = (program: Program): Program =>
  runPipeline(program, passes, {
    evaluate: evaluateConstant,
    observe: ({ after }) => verify(after),
  });

test('forward, only the product with the carried state is left in the loop', () => {
  const program = lstm(null);
  const after = optimized(program);
  assert.deepEqual(counts(after, 'matmul'), { outside: 2, inside: 1 });
  for (const [t, b] of [
    [0, 2],
    [1, 1],
    [5, 3],
  ]) {
    agree(program, after, inputsOf(program, { t, b }), 1e-12);
  }
});

/** The loss's gradients with respect to all inputs. */
function gradientOf(program: Program): Program {
  const wrt = program.inputs.map(() => true);
  return backwardProgram(program, wrt, [true, false]);
}

/** How many products there are in each loop of a program. */
function productsInLoops(program: Program): number[] {
  return loopsOf(program).map(({ regions: [body] }) => counts(body, 'matmul').outside);
}

test('forward and backward keep one product each; all weights gather theirs behind', () => {
  const program = gradientOf(lstm(null));
  const after = optimized(program);
  assert.deepEqual(productsInLoops(after), [1, 1]);
  // That of the data and that of the outputs, both back, and those of three weights.
  assert.equal(counts(after, 'matmul').outside, 7);
  const states = loopsOf(after).map((call) => call.attributes.states);
  assert.deepEqual(states, [2, 2]);
  for (const [t, b] of [
    [0, 2],
    [1, 1],
    [5, 3],
  ]) {
    const inputs = [...inputsOf(program, { t, b })];
    agree(program, after, inputs, 1e-12);
    const expected = run(program, inputs);
    const compiled = compile(program).run(inputs);
    compiled.forEach((array, k) => {
      const wanted = numbersOf(expected[k]);
      numbersOf(array).forEach((value, i) => {
        assert.ok(Math.abs(value - wanted[i]) < 1e-12 * Math.max(1, Math.abs(wanted[i])));
      });
    });
  }
});

test('the length of a loop makes no program longer, and a short one becomes no loop', () => {
  const sizes = [50, 5000].map((time) => optimized(gradientOf(lstm(time))).graph.nodeCount);
  assert.equal(sizes[0], sizes[1]);
  const short = gradientOf(lstm(1));
  const after = optimized(short);
  assert.equal(loopsOf(after).length, 0);
  agree(short, after, inputsOf(short, { b: 2 }), 1e-12);
});
