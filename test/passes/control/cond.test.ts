import assert from 'node:assert/strict';
import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { cond } from '../../../src/ops/control/cond.js';
import { foreach } from '../../../src/ops/control/foreach.js';
import { add, mul } from '../../../src/ops/elementwise/arithmetic.js';
import { less } from '../../../src/ops/elementwise/comparison.js';
import { exp } from '../../../src/ops/elementwise/exponential.js';
import { tanh } from '../../../src/ops/elementwise/hyperbolic.js';
import { sin } from '../../../src/ops/elementwise/trigonometric.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import { concat } from '../../../src/ops/movement/concat.js';
import { gradient } from '../../../src/passes/gradient/gradient.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { randomOperand } from '../../support/arrays.js';
import { operand, programOf } from '../../support/programs.js';
import { checkCompiled, checkDifferences, checkGradients } from './check.js';
import { random } from './random.js';

const f64 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'float64', shape });
const bool: TensorType = { dtype: 'bool', shape: [] };
const next = random(9);
const floats = (...shape: number[]): Operand => randomOperand(next, shape);
const truth = (value: boolean): Operand => operand('bool', [], [value]);

function choosing(then: Program, otherwise: Program, types: readonly TensorType[]): Program {
  const program = new Program();
  const predicate = program.variable('p', bool);
  const captures = types.map((type, k) => program.variable(`x${k}`, type));
  const results = cond<Value>(predicate, then, otherwise, captures);
  program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
  return program;
}

const then = programOf({ x: f64(2), y: f64(2), z: f64(2) }, ({ x, y }) => {
  const made = exp<Value>(mul(x, y));
  return { first: made, second: sum<Value>(mul(made, x)) };
});
const otherwise = programOf({ x: f64(2), y: f64(2), z: f64(2) }, ({ x, z }) => ({
  first: sin<Value>(mul(x, z)),
  second: sum<Value>(z),
}));
const types = [f64(2), f64(2), f64(2)];

test('either branch, whatever needs a gradient and whatever has one', () => {
  const program = choosing(then, otherwise, types);
  for (const taken of [true, false]) {
    const inputs = [truth(taken), floats(2), floats(2), floats(2)];
    for (const flows of [[true, false], [false, true], [true, true]]) {
      for (let needs = 1; needs < 8; needs++) {
        const wrt = [false, ...types.map((_, k) => (needs & (1 << k)) !== 0)];
        checkGradients(program, inputs, { wrt, flows });
      }
    }
    checkDifferences(program, inputs);
    checkCompiled(program, inputs);
  }
}); // prettier-ignore

test('a result of the branch is read where it is, not computed again', () => {
  const program = choosing(then, otherwise, types);
  const wrt = program.inputs.slice(1);
  const seed = program.variable('seed', f64(2));
  const [dx, , dz] = gradient<Value>({
    program,
    outputs: [{ value: program.outputs[0].value, grad: seed }],
    wrt,
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  assert.ok(dx !== null && dz !== null);
  const back = program.node(dx.node);
  assert.ok(back.kind === 'call');
  const names = [...back.regions[0].graph.nodes()].flatMap((id) => {
    const node = back.regions[0].node(id);
    return node.kind === 'call' ? [node.op.name] : [];
  });
  assert.ok(names.length > 0 && !names.includes('exp'));
});

test('nothing flows to what neither branch reads', () => {
  const program = choosing(then, otherwise, types);
  const seed = program.variable('seed', f64());
  const branch = programOf({ x: f64(2), y: f64(2) }, ({ x }) => ({ sum: sum<Value>(x) }));
  const [total] = cond<Value>(program.inputs[0], branch, branch, program.inputs.slice(1, 3));
  const found = gradient<Value>({
    program,
    outputs: [{ value: total, grad: seed }],
    wrt: program.inputs.slice(1),
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  assert.deepEqual(
    found.map((grad) => grad !== null),
    [true, false, false, false],
  );
});

test('branches whose results have other sizes', () => {
  const short = programOf({ x: f64(2), y: f64(3) }, ({ x }) => ({ made: sin<Value>(x) }));
  const long = programOf({ x: f64(2), y: f64(3) }, ({ x, y }) => ({
    made: mul(concat<Value>([x, y]), 2),
  }));
  const [n, m] = [symbol('n'), symbol('m')];
  const symbolic = programOf({ x: f64(n), y: f64(m) }, ({ x, y }) => ({
    made: mul(concat<Value>([x, tanh<Value>(y), x]), 2),
  }));
  for (const [first, second] of [[short, long], [long, short], [short, symbolic]]) {
    const chosen = choosing(first, second, [f64(2), f64(3)]);
    for (const taken of [true, false]) {
      checkGradients(chosen, [truth(taken), floats(2), floats(3)]);
      checkCompiled(chosen, [truth(taken), floats(2), floats(3)]);
    }
  }
}); // prettier-ignore

test('a branch in a loop in a branch', () => {
  const body = programOf({ x: f64(2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const positive = programOf({ s: f64(2), w: f64(2) }, ({ s, w }) => ({ s: mul(s, w) }));
    const negative = programOf({ s: f64(2), w: f64(2) }, ({ s }) => ({ s: tanh<Value>(s) }));
    const [made] = cond<Value>(less<Value>(0, sum<Value>(x)), positive, negative, [s, w]);
    return { row: made, s: add(made, x) };
  });
  const looping = programOf({ x: f64(4, 2), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const [row, last] = foreach<Value>(body, { data: [x], states: [s], captures: [w] });
    return { row, last };
  });
  const still = programOf({ x: f64(4, 2), s: f64(2), w: f64(2) }, ({ x, s }) => ({
    row: mul(x, s),
    last: s,
  }));
  const program = choosing(looping, still, [f64(4, 2), f64(2), f64(2)]);
  for (const taken of [true, false]) {
    const inputs = [truth(taken), floats(4, 2), floats(2), floats(2)];
    checkGradients(program, inputs);
    checkDifferences(program, inputs);
    checkCompiled(program, inputs);
  }
});
