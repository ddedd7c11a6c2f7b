import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mulDim, symbol } from '../../../src/base/dim/index.js';
import type { DType } from '../../../src/base/dtype.js';
import { Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { foreach, type ForeachOperands } from '../../../src/ops/control/foreach.js';
import { matmul } from '../../../src/ops/contraction/index.js';
import { add, mul, sub } from '../../../src/ops/elementwise/arithmetic.js';
import { cast } from '../../../src/ops/elementwise/conversion.js';
import { sin } from '../../../src/ops/elementwise/trigonometric.js';
import { tanh } from '../../../src/ops/elementwise/hyperbolic.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import { gradient } from '../../../src/passes/gradient/gradient.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { randomOperand } from '../../support/arrays.js';
import { operand, programOf } from '../../support/programs.js';
import { checkCompiled, checkDifferences, checkGradients } from './check.js';
import { random } from './random.js';

const f64 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'float64', shape });
const i32 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'int32', shape });

/** A program that is one loop over its inputs: data, states, captures, and the count if there is one. */
function looping(
  body: Program,
  types: readonly TensorType[],
  data: number,
  states: number,
  options: { readonly counted?: boolean } & Pick<ForeachOperands<Value>, 'reverse' | 'save'> = {},
): Program {
  const { counted = false, ...others } = options;
  const program = new Program();
  const inputs = types.map((type, k) => program.variable(`x${k}`, type));
  const end = inputs.length - Number(counted);
  const results = foreach<Value>(body, {
    data: inputs.slice(0, data),
    states: inputs.slice(data, data + states),
    captures: inputs.slice(data + states, end),
    count: counted ? inputs[end] : undefined,
    ...others,
  });
  program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
  return program;
}

const next = random(3);
const floats = (...shape: number[]): Operand => randomOperand(next, shape);
const whole = (dtype: DType, ...shape: number[]): Operand => randomOperand(next, shape, dtype);

/** A recurrent layer: `h = tanh(x @ w + h * u)`, which is a row too. */
const recurrent = programOf({ x: f64(3), h: f64(2), w: f64(3, 2), u: f64(2) }, ({ x, h, w, u }) => {
  const made = tanh<Value>(add(matmul(x, w), mul(h, u)));
  return { row: made, state: made };
});

const lengths = [0, 1, 2, 5];

test('a recurrent layer, forwards and backwards, of several lengths', () => {
  for (const length of lengths) {
    for (const reverse of [false, true]) {
      const types = [f64(length, 3), f64(2), f64(3, 2), f64(2)];
      const program = looping(recurrent, types, 1, 1, { reverse });
      checkGradients(program, [floats(length, 3), floats(2), floats(3, 2), floats(2)]);
    }
  }
});

test('derivatives of a recurrent layer agree with differences', () => {
  const program = looping(recurrent, [f64(4, 3), f64(2), f64(3, 2), f64(2)], 1, 1);
  checkDifferences(program, [floats(4, 3), floats(2), floats(3, 2), floats(2)]);
  checkCompiled(program, [floats(4, 3), floats(2), floats(3, 2), floats(2)]);
});

test('every choice of what needs a gradient and of what has one', () => {
  const types = [f64(3, 3), f64(2), f64(3, 2), f64(2)];
  const inputs = [floats(3, 3), floats(2), floats(3, 2), floats(2)];
  const program = looping(recurrent, types, 1, 1);
  for (let needs = 1; needs < 16; needs++) {
    const wrt = types.map((_, k) => (needs & (1 << k)) !== 0);
    for (const flows of [[true, false], [false, true], [true, true]]) {
      checkGradients(program, inputs, { wrt, flows }, 1);
    }
  }
}); // prettier-ignore

test('only leading rows are iterated over', () => {
  for (const count of [0, 1, 3]) {
    for (const reverse of [false, true]) {
      const types = [f64(3, 3), f64(2), f64(3, 2), f64(2), i32()];
      const program = looping(recurrent, types, 1, 1, { reverse, counted: true });
      const inputs = [floats(3, 3), floats(2), floats(3, 2), floats(2)];
      checkGradients(program, [...inputs, operand('int32', [], [count])]);
      if (count === 1) checkCompiled(program, [...inputs, operand('int32', [], [count])]);
    }
  }
});

test('states that are ignored, passed on, swapped, or made of others', () => {
  const body = programOf(
    { x: f64(2), a: f64(2), b: f64(2), kept: f64(2), lost: f64(2), late: f64(2) },
    ({ x, a, b, kept, lost, late }) => ({
      row: mul(a, kept),
      a: b,
      b: mul(a, x),
      kept,
      lost: sin(x),
      late: add(lost, mul(late, b)),
    }),
  );
  for (const length of lengths) {
    const types = [f64(length, 2), ...Array.from({ length: 5 }, () => f64(2))];
    const inputs = [floats(length, 2), ...Array.from({ length: 5 }, () => floats(2))];
    const program = looping(body, types, 1, 5);
    checkGradients(program, inputs);
    if (length === 5) checkCompiled(program, inputs);
    for (let only = 0; only < 6; only++) {
      const flows = types.map((_, k) => k === only);
      checkGradients(program, inputs, { flows });
    }
  }
});

test('integer data, states, captures and rows have no gradient and do no harm', () => {
  const body = programOf(
    { x: f64(2), k: i32(), count: i32(), s: f64(2), offset: i32() },
    ({ x, k, count, s, offset }) => ({
      steps: count,
      row: mul(s, cast<Value>(k, 'float64')),
      count: add(count, offset),
      s: add(s, mul(x, cast<Value>(add(count, k), 'float64'))),
    }),
  );
  const types = [f64(4, 2), i32(4), i32(), f64(2), i32()];
  const program = looping(body, types, 2, 2);
  const inputs = [floats(4, 2), whole('int32', 4), whole('int32'), floats(2), whole('int32')];
  checkGradients(program, inputs);
});

test('one array as data twice, and as a state and a capture', () => {
  const body = programOf({ a: f64(2), b: f64(2), s: f64(2), c: f64(2) }, ({ a, b, s, c }) => ({
    row: mul(mul(a, b), s),
    s: add(mul(s, c), a),
  }));
  const program = programOf({ x: f64(3, 2), s: f64(2) }, ({ x, s }) => {
    const [row, last] = foreach<Value>(body, { data: [x, x], states: [s], captures: [s] });
    return { row, last };
  });
  checkGradients(program, [floats(3, 2), floats(2)]);
});

test('a state that is a row, before and after the iteration', () => {
  const body = programOf({ x: f64(2), s: f64(2) }, ({ x, s }) => {
    const after = mul(sin<Value>(s), x);
    return { before: s, after, again: after, s: after };
  });
  const program = looping(body, [f64(4, 2), f64(2)], 1, 1);
  checkGradients(program, [floats(4, 2), floats(2)]);
});

test('a body that reads nothing that varies still goes back as often as it went', () => {
  const body = programOf({ x: f64(2), s: f64(2) }, ({ s }) => ({ s: mul(s, -1.5) }));
  for (const length of lengths) {
    checkGradients(looping(body, [f64(length, 2), f64(2)], 1, 1), [floats(length, 2), floats(2)]);
  }
});

test('loops within loops', () => {
  const inner = programOf({ y: f64(), t: f64(), s: f64(2), w: f64(2) }, ({ y, t, s, w }) => ({
    row: mul(mul(s, t), y),
    t: sin<Value>(add(mul(t, y), sum<Value>(mul(s, w)))),
  }));
  const body = programOf({ x: f64(3), s: f64(2), w: f64(2) }, ({ x, s, w }) => {
    const [rows, last] = foreach<Value>(inner, {
      data: [x],
      states: [sum(s)],
      captures: [s, w],
    });
    return { total: sum<Value>(rows, 0), s: mul(tanh<Value>(s), last) };
  });
  const program = looping(body, [f64(2, 3), f64(2), f64(2)], 1, 1);
  checkGradients(program, [floats(2, 3), floats(2), floats(2)]);
  checkDifferences(program, [floats(2, 3), floats(2), floats(2)]);
  checkCompiled(program, [floats(2, 3), floats(2), floats(2)]);
});

test('symbolic sizes, of the body and of its surroundings', () => {
  const [n, m, t] = [symbol('n'), symbol('m'), symbol('t')];
  const body = programOf({ x: f64(n, m), s: f64(n), w: f64(m) }, ({ x, s, w }) => {
    const made = tanh<Value>(sub(matmul(x, w), s));
    return { row: mul(made, sum<Value>(x)), s: made };
  });
  const program = looping(body, [f64(t, 2, n), f64(2), f64(n)], 1, 1);
  for (const length of [0, 3]) {
    checkGradients(program, [floats(length, 2, 3), floats(2), floats(3)]);
    checkCompiled(program, [floats(length, 2, 3), floats(2), floats(3)]);
  }
});

test('sizes that only an operand without a gradient tells', () => {
  const [n, m, t] = [symbol('n'), symbol('m'), symbol('t')];
  const types = [f64(t), f64(2), i32(3), f64(6)];
  // The sizes of the capture follow from those of the integers and of the state, which backward has no use for.
  const body = programOf(
    { x: f64(), s: f64(n), k: i32(m), c: f64(mulDim(n, m)) },
    ({ x, s, c }) => ({ row: mul(sum<Value>(sin<Value>(c)), x), s }),
  );
  const program = looping(body, types, 1, 1);
  const inputs = [floats(3), floats(2), whole('int32', 3), floats(6)];
  checkGradients(program, inputs);
  checkGradients(program, inputs, { wrt: [false, false, false, true], flows: [true, false] });
  checkCompiled(program, inputs);
});

test('gradients reach only what they flow to', () => {
  const body = programOf(
    { x: f64(), dead: f64(), s: f64(), unused: f64(), w: f64() },
    ({ x, dead, s, w }) => ({ row: mul(s, w), dead: add(dead, x), s: mul(s, w) }),
  );
  const program = looping(body, [f64(3), f64(), f64(), f64(), f64()], 1, 2);
  const found = gradient<Value>({
    program,
    outputs: [{ value: program.outputs[0].value, grad: program.outputs[0].value }],
    wrt: program.inputs,
    valueOf: (value) => value,
    add: (a, b) => add(a, b),
  });
  assert.deepEqual(
    found.map((grad) => grad !== null),
    [false, false, true, false, true],
  );
  const back = found[2]!.program.node(found[2]!.node);
  assert.ok(back.kind === 'call');
  // One state is carried back, and one capture's gradient summed up.
  assert.equal(back.attributes.states, 2);
});
