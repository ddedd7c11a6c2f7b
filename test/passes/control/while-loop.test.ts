import { test } from 'node:test';
import { symbol } from '../../../src/base/dim/index.js';
import { Program, type Value } from '../../../src/ir/program.js';
import type { TensorType } from '../../../src/ir/types.js';
import { cond } from '../../../src/ops/control/cond.js';
import { foreach } from '../../../src/ops/control/foreach.js';
import { whileLoop, type WhileOperands } from '../../../src/ops/control/while-loop.js';
import { add, mul } from '../../../src/ops/elementwise/arithmetic.js';
import { less } from '../../../src/ops/elementwise/comparison.js';
import { cast } from '../../../src/ops/elementwise/conversion.js';
import { tanh } from '../../../src/ops/elementwise/hyperbolic.js';
import { sin } from '../../../src/ops/elementwise/trigonometric.js';
import { sum } from '../../../src/ops/reduction/sum.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { randomOperand } from '../../support/arrays.js';
import { operand, programOf } from '../../support/programs.js';
import { checkCompiled, checkDifferences, checkGradients } from './check.js';
import { random } from './random.js';

const f64 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'float64', shape });
const i32 = (...shape: TensorType['shape']): TensorType => ({ dtype: 'int32', shape });

const next = random(5);
const floats = (...shape: number[]): Operand => randomOperand(next, shape);
const int = (value: number): Operand => operand('int32', [], [value]);

/** A program that is one loop over its inputs: states, captures. */
function looping(
  condition: Program,
  body: Program,
  types: readonly TensorType[],
  states: number,
  options: Partial<WhileOperands<Value>> = {},
): Program {
  const program = new Program();
  const inputs = types.map((type, k) => program.variable(`x${k}`, type));
  const results = whileLoop<Value>(condition, body, {
    states: inputs.slice(0, states),
    captures: inputs.slice(states),
    ...options,
  });
  program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
  return program;
}

/** `i < n`, and the other inputs of the body that is asked for. */
const counting = (...types: readonly TensorType[]): Program => {
  const program = new Program();
  const [i, ...rest] = types.map((type, k) => program.variable(`x${k}`, type));
  program.setOutputs([{ name: 'more', value: less<Value>(i, rest.at(-1)!) }]);
  return program;
};

const types = [i32(), f64(2), f64(2), i32()];
const condition = counting(...types);
const stacking = programOf({ i: i32(), s: f64(2), w: f64(2), n: i32() }, ({ i, s, w }) => {
  const made = tanh<Value>(add(mul(s, w), cast<Value>(i, 'float64')));
  return { row: mul(made, s), i: add(i, 1), s: made };
});
const silent = programOf({ i: i32(), s: f64(2), w: f64(2), n: i32() }, ({ i, s, w }) => ({
  i: add(i, 1),
  s: sin<Value>(mul(s, w)),
}));

const forms: readonly Partial<WhileOperands<Value>>[] = [
  {},
  { limit: 4 },
  { limit: 4, padded: true },
  { limit: 4, padded: true, save: 'none' },
  { limit: 4, save: 'all' },
];

test('loops with and without stacked results, of any number of iterations, in every form', () => {
  for (const form of forms) {
    for (const body of [stacking, silent]) {
      const program = looping(condition, body, types, 2, form);
      for (const count of [0, 1, 3, 6]) {
        if (form.limit === undefined && count > 3) continue;
        checkGradients(program, [int(0), floats(2), floats(2), int(count)]);
      }
      checkCompiled(program, [int(0), floats(2), floats(2), int(3)]);
    }
  }
});

test('derivatives agree with differences', () => {
  for (const form of forms) {
    const program = looping(condition, stacking, types, 2, form);
    checkDifferences(program, [int(0), floats(2), floats(2), int(3)]);
    checkCompiled(program, [int(0), floats(2), floats(2), int(3)]);
  }
});

test('a body that reads nothing that varies still goes back as often as it went', () => {
  const body = programOf({ i: i32(), s: f64(2), w: f64(2), n: i32() }, ({ i, s, w }) => ({
    i: add(i, 1),
    s: add(mul(s, -1.5), w),
  }));
  const rows = programOf({ i: i32(), s: f64(2), w: f64(2), n: i32() }, ({ i, s, w }) => ({
    row: i,
    i: add(i, 1),
    s: add(mul(s, -1.5), w),
  }));
  for (const each of [body, rows]) {
    for (const form of forms) {
      const program = looping(condition, each, types, 2, form);
      for (const count of [0, 3]) {
        checkGradients(program, [int(0), floats(2), floats(2), int(count)]);
      }
    }
  }
});

test('a condition on what the gradient flows through', () => {
  const condition = programOf({ s: f64(), w: f64() }, ({ s }) => ({ more: less<Value>(s, 20) }));
  const body = programOf({ s: f64(), w: f64() }, ({ s, w }) => ({
    row: mul(s, s),
    s: mul(s, add(w, 1.5)),
  }));
  for (const form of [{}, { limit: 10, padded: true }]) {
    const program = looping(condition, body, [f64(), f64()], 1, form);
    const inputs = [operand('float64', [], [1.3]), operand('float64', [], [0.5])];
    checkGradients(program, inputs);
    checkDifferences(program, inputs);
    checkCompiled(program, inputs);
  }
});

test('every choice of what needs a gradient and of what has one', () => {
  for (const form of [{}, { limit: 4, padded: true }]) {
    const program = looping(condition, stacking, types, 2, form);
    const inputs = [int(0), floats(2), floats(2), int(2)];
    for (const wrt of [[false, true, false, false], [false, false, true, false]]) {
      for (const flows of [[true, false, false, false], [false, false, true, false]]) {
        checkGradients(program, inputs, { wrt, flows });
      }
    }
  }
}); // prettier-ignore

test('a loop in a loop over rows, and loops over rows in it', () => {
  const rows = programOf({ x: f64(), s: f64(2) }, ({ x, s }) => {
    const made = mul(sin<Value>(s), x);
    return { row: made, s: made };
  });
  const body = programOf({ i: i32(), s: f64(2), x: f64(3), n: i32() }, ({ i, s, x }) => {
    const [stacked, last] = foreach<Value>(rows, { data: [x], states: [s], captures: [] });
    return { i: add(i, 1), s: add(last, sum<Value>(stacked, 0)) };
  });
  const inner = [i32(), f64(2), f64(3), i32()];
  const outer = programOf({ y: f64(3), s: f64(2), i: i32(), n: i32() }, ({ y, s, i, n }) => {
    const made = whileLoop<Value>(counting(...inner), body, {
      states: [i, s],
      captures: [y, n],
      limit: 5,
    });
    return { row: made[2], s: made[1] };
  });
  const program = programOf({ y: f64(2, 3), s: f64(2), i: i32(), n: i32() }, ({ y, s, i, n }) => {
    const [row, last] = foreach<Value>(outer, { data: [y], states: [s], captures: [i, n] });
    return { row, last };
  });
  checkGradients(program, [floats(2, 3), floats(2), int(0), int(2)]);
  checkCompiled(program, [floats(2, 3), floats(2), int(0), int(2)]);
});

test('as many rows as there are iterations, in loops and branches: they are computed again', () => {
  const inner = programOf({ i: i32(), s: f64(2), w: f64(2), n: i32() }, ({ i, s, w }) => {
    const made = tanh<Value>(mul(s, w));
    return { row: mul(made, made), i: add(i, 1), s: made };
  });
  const outer = programOf({ k: i32(), s: f64(2), w: f64(2), i: i32() }, ({ k, s, w, i }) => {
    const looping = programOf({ k: i32(), s: f64(2), w: f64(2), i: i32() }, (own) => {
      const [rows, , last] = whileLoop<Value>(condition, inner, {
        states: [own.i, own.s],
        captures: [own.w, own.k],
      });
      return { total: sum<Value>(sin<Value>(rows)), last };
    });
    const still = programOf({ k: i32(), s: f64(2), w: f64(2), i: i32() }, ({ s, w }) => ({
      total: sum<Value>(mul(s, w)),
      last: s,
    }));
    const [total, last] = cond<Value>(less<Value>(0, k), looping, still, [k, s, w, i]);
    return { row: total, s: mul(last, 1.5) };
  });
  for (const save of ['all', 'none', 'auto'] as const) {
    const program = programOf({ k: i32(3), s: f64(2), w: f64(2), i: i32() }, ({ k, s, w, i }) => {
      const [row, last] = foreach<Value>(outer, {
        data: [k],
        states: [s],
        captures: [w, i],
        save,
      });
      return { row, last };
    });
    checkGradients(program, [operand('int32', [3], [2, 0, 3]), floats(2), floats(2), int(0)]);
    checkCompiled(program, [operand('int32', [3], [2, 0, 3]), floats(2), floats(2), int(0)]);
  }
});

test('symbolic sizes', () => {
  const n = symbol('n');
  const own = [i32(), f64(n), f64(n), i32()];
  const body = programOf({ i: i32(), s: f64(n), w: f64(n), n: i32() }, ({ i, s, w }) => ({
    row: sum<Value>(s),
    i: add(i, 1),
    s: mul(tanh<Value>(s), w),
  }));
  for (const form of [{}, { limit: 3, padded: true }]) {
    const program = looping(counting(...own), body, own, 2, form);
    checkGradients(program, [int(0), floats(2), floats(2), int(2)]);
  }
});
