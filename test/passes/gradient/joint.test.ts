import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { GraphError } from '../../../src/base/errors.js';
import { Program, typeToString, type Value } from '../../../src/ir/program.js';
import { verify } from '../../../src/ir/verify.js';
import { booleanMask } from '../../../src/ops/dynamic/boolean-mask.js';
import { add, mul, square } from '../../../src/ops/elementwise/arithmetic.js';
import { exp } from '../../../src/ops/elementwise/exponential.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import { call } from '../../../src/ops/structure/call.js';
import { backwardProgram } from '../../../src/passes/gradient/gradient.js';
import { inline } from '../../../src/passes/rewrite/inline.js';
import { type JointProgram, jointProgram } from '../../../src/passes/gradient/joint.js';
import { evaluate, plain, type Plain } from '../plain.js';

const n = symbol('n');
const f64 = (...shape: (number | typeof n)[]) => ({ dtype: 'float64', shape }) as const;

/** Runs both halves as a caller would: hold inputs and outputs, hand over what is saved. */
function runJoint(joint: JointProgram, inputs: readonly Plain[], grads: readonly Plain[]) {
  const outputs = evaluate(joint.forward, inputs);
  const held = [...inputs, ...outputs];
  return {
    outputs: outputs.slice(0, joint.outputs),
    grads: evaluate(
      joint.backward,
      [...joint.saved.map((k) => held[k]), ...grads],
      joint.sizes.map(({ place, axis }) => held[place].shape[axis]),
    ),
  };
}

function calls(program: Program): string[] {
  return [...program.graph.nodes()].flatMap((id) => {
    const node = program.node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
}

/** `exp(x) * y` and its sum. */
function sample(): Program {
  const program = new Program();
  const x = program.variable('x', f64(n, 2));
  const y = program.variable('y', f64(2));
  const product = mul(exp(x), y);
  program.setOutputs([
    { name: 'product', value: product },
    { name: 'total', value: sum(square(product)) },
  ]);
  return program;
}

const x = plain([3, 2], [0.1, -0.2, 0.3, 0.4, 0.5, -0.6]);
const y = plain([2], [2, -3]);
const grads = [plain([3, 2], [1, 2, 3, 4, 5, 6]), plain([], [0.5])];

test('forward and backward together give what backward alone gives', () => {
  const program = sample();
  const joint = jointProgram(program, [true, true]);
  const both = runJoint(joint, [x, y], grads);
  assert.deepEqual(both.outputs, evaluate(program, [x, y]));
  assert.deepEqual(both.grads, evaluate(backwardProgram(program, [true, true]), [x, y, ...grads]));
});

test('backward computes nothing again, and saves only what is not there anyway', () => {
  const joint = jointProgram(sample(), [true, true]);
  assert.ok(!calls(joint.backward).includes('exp'));
  // exp(x) is the one value that is neither an input nor an output; 2 * product may be another.
  const extra = joint.forward.outputs.length - joint.outputs;
  assert.ok(extra >= 1 && extra <= 2, `${extra} saved`);
  assert.equal(new Set(joint.saved).size, joint.saved.length);
});

test('a dimension that backward needs comes along even when no value is read', () => {
  const program = new Program();
  program.setOutputs([{ name: 'total', value: sum(program.variable('x', f64(n, 2))) }]);
  const joint = jointProgram(program, [true]);
  const { grads } = runJoint(joint, [x], [plain([], [7])]);
  assert.deepEqual(grads, [plain([3, 2], [7, 7, 7, 7, 7, 7])]);
  assert.deepEqual(joint.saved, [], 'no array is kept for its shape');
  assert.deepEqual(joint.backward.sizes.map(String), ['n']);
});

test('of an array whose size alone backward needs, the size is saved', () => {
  const program = new Program();
  const x = program.variable('x', f64(n, 1000));
  const mask = program.variable('mask', { dtype: 'bool', shape: [n] });
  const found = booleanMask<Value>(x, mask);
  program.setOutputs([{ name: 'total', value: sum(found) }]);
  const { forward, backward, saved, sizes } = jointProgram(program, [true, false]);
  verify(forward);
  verify(backward);
  const extra = forward.outputs.slice(1).map(({ value }) => typeToString(value.type));
  assert.deepEqual(extra, [`bool[0, ${String(found.type.shape[0])}]`]);
  assert.ok(!saved.includes(0), 'the array is not read');
  const passed = Object.fromEntries(backward.sizes.map(({ key }, i) => [key, sizes[i]]));
  // Two inputs and one output precede the one that tells it.
  assert.deepEqual(passed[String(found.type.shape[0])], { place: 3, axis: 1 });
  assert.ok(calls(forward).includes('booleanMask'), 'which decides the size');
});

test('no gradient can come back: an error', () => {
  const program = new Program();
  program.setOutputs([{ name: 'x', value: program.variable('x', { dtype: 'int64', shape: [] }) }]);
  assert.throws(() => jointProgram(program, [true]), GraphError);
});

test('what may be computed again is not saved, and results stay the same', () => {
  const all = jointProgram(sample(), [true, true]);
  const expected = runJoint(all, [x, y], grads);
  const extra = ({ forward, outputs }: JointProgram): number => forward.outputs.length - outputs;
  for (const [policy, most] of [['auto', 0], ['none', 0], [0, 0], [1e6, extra(all)]] as const) {
    // Only the gradient of the sum, so that its product is not there anyway.
    const joint = jointProgram(sample(), [true, true], [true, true], policy);
    assert.ok(extra(joint) <= most);
    const computed = calls(joint.backward).filter((name) => name === 'exp').length;
    assert.equal(computed, policy === 1e6 ? 0 : 1);
    const { outputs, grads: found } = runJoint(joint, [x, y], grads);
    assert.deepEqual([outputs, found], [expected.outputs, expected.grads]);
  }
}); // prettier-ignore

test('when fewer outputs are used than were prepared for, what was saved is still used', () => {
  const joint = jointProgram(sample(), [true, true]);
  for (const used of [0, 1]) {
    const program = new Program();
    const [a, b] = [program.variable('x', f64(3, 2)), program.variable('y', f64(2))];
    program.setOutputs([{ name: 'z', value: sum(call<Value>(joint, a, b)[used]) }]);
    const backward = backwardProgram(program, [true, true]);
    const bodies = [...backward.graph.nodes()].flatMap((id) => {
      const node = backward.node(id);
      return node.kind === 'call' && node.op.name === 'call' ? [node.regions[0]] : [];
    });
    const [body] = bodies.filter((region) => region !== joint.forward);
    assert.ok(!calls(body).includes('exp'), 'exp(x) was saved');
    const plainly = backwardProgram(sample(), [true, true], [used === 0, used === 1]);
    const seed = used === 0 ? plain([3, 2], [2, 2, 2, 2, 2, 2]) : plain([], [2]);
    assert.deepEqual(evaluate(backward, [x, y, plain([], [2])]), evaluate(plainly, [x, y, seed]));
  }
});

/** A program that calls another twice: `sum(f(f(x, y), y))`, with f one of the sample's outputs. */
function calling(body: Program | JointProgram): Program {
  const program = new Program();
  const x = program.variable('x', f64(3, 2));
  const y = program.variable('y', f64(2));
  const [once] = call<Value>(body, x, y);
  const [twice] = call<Value>(body, once, y);
  program.setOutputs([{ name: 'total', value: sum(add(twice, once)) }]);
  return program;
}

test('gradients through calls are those of the inlined program, in every order', () => {
  const plainCalls = calling(sample());
  const prepared = calling(jointProgram(sample(), [true, true], [true, false]));
  const reference = inline(plainCalls);
  assert.ok(!calls(reference).includes('call'));
  const inputs = [x, y, plain([], [1])];
  const first = evaluate(backwardProgram(reference, [true, true]), inputs);
  const v = plain([2], [0.3, 0.7]);
  const second = (program: Program): readonly Plain[] =>
    evaluate(
      backwardProgram(backwardProgram(program, [true, true]), [true, true, true], [false, true]),
      [...inputs, v],
    );
  const expected = second(reference);
  for (const program of [plainCalls, prepared, inline(prepared)]) {
    const actual = evaluate(backwardProgram(program, [true, true]), inputs);
    [...actual, ...second(program)].forEach(({ data }, k) => {
      const wanted = [...first, ...expected][k].data;
      data.forEach((value, i) =>
        assert.ok(Math.abs(value - wanted[i]) <= 1e-9 * (1 + Math.abs(wanted[i]))),
      );
    });
  }
});

test('a prepared backward is used when it fits', () => {
  const joint = jointProgram(sample(), [true, true], [true, false]);
  const backward = backwardProgram(calling(joint), [true, true]);
  const regions = [...backward.graph.nodes()].flatMap((id) => {
    const node = backward.node(id);
    return node.kind === 'call' && node.op.name === 'call' ? [node.regions[0]] : [];
  });
  assert.equal(regions.filter((region) => region === joint.backward).length, 2);
});
