import {
  add, booleanMask, cond, foreach, greater, less, matmul, mul, neg, sigmoid, split, sum, tanh, whileLoop,
} from '../../src/ops/index.js'; // prettier-ignore
import { elementsOf, operand, programOf } from '../support/programs.js';
import { array, f32, type GoldenCase, numbers, product, rows, sigmoidOf, type } from './case.js';

const plain = (array_: Parameters<typeof elementsOf>[0]): number[] =>
  elementsOf(array_).map(Number);

function lstmLoop(): GoldenCase {
  const [steps, batch, inputs, units] = [5, 2, 4, 4];
  const gates = 4 * units;
  const body = programOf(
    {
      x: f32(batch, inputs),
      h: f32(batch, units),
      c: f32(batch, units),
      w: f32(inputs, gates),
      u: f32(units, gates),
    },
    ({ x, h, c, w, u }) => {
      const [input, forget, output, candidate] = split(add(matmul(x, w), matmul(h, u)), 4, 1);
      const cell = add(mul(sigmoid(forget), c), mul(sigmoid(input), tanh(candidate)));
      const hidden = mul(sigmoid(output), tanh(cell));
      return { row: hidden, hidden, cell };
    },
  );
  const shapes = [[steps, batch, inputs], [batch, units], [batch, units], [inputs, gates], [units, gates]]; // prettier-ignore
  const arrays = shapes.map((shape, i) => array(20 + i, ...shape));
  const [xs, h0, c0, ws, us] = arrays.map(plain);
  let [h, c] = [h0, c0];
  const stacked: number[] = [];
  for (let t = 0; t < steps; t++) {
    const x = xs.slice(t * batch * inputs, (t + 1) * batch * inputs);
    const fromInput = product(x, ws, batch, inputs, gates);
    const sums = product(h, us, batch, units, gates).map((value, i) => value + fromInput[i]);
    const gate = (at: number, k: number): number =>
      sums[Math.floor(at / units) * gates + k * units + (at % units)];
    c = c.map(
      (value, at) =>
        sigmoidOf(gate(at, 1)) * value + sigmoidOf(gate(at, 0)) * Math.tanh(gate(at, 3)),
    );
    h = c.map((value, at) => sigmoidOf(gate(at, 2)) * Math.tanh(value));
    stacked.push(...h);
  }
  return {
    name: 'lstm-loop',
    program: programOf(
      {
        x: f32(steps, batch, inputs),
        h: f32(batch, units),
        c: f32(batch, units),
        w: f32(inputs, gates),
        u: f32(units, gates),
      },
      ({ x, h, c, w, u }) => {
        const [all, hidden, cell] = foreach(body, { data: [x], states: [h, c], captures: [w, u] });
        return { all, hidden, cell };
      },
    ),
    inputs: arrays,
    expected: [stacked, h, c],
  };
}

/** A recurrence whose weights are copied into panels once, in its first step. */
function keptWeights(): GoldenCase {
  const [steps, batch, units] = [9, 32, 260];
  const types = { x: f32(batch, units), h: f32(batch, units), u: f32(units, units) };
  const body = programOf(types, ({ x, h, u }) => ({ h: tanh(add(x, matmul(h, u))) }));
  const scaled = numbers(units * units, 25).map((value) => Math.fround(value / 16));
  const arrays = [
    array(23, steps, batch, units),
    array(24, batch, units),
    operand('float32', [units, units], scaled),
  ];
  const [xs, h0, us] = arrays.map(plain);
  let h = h0;
  for (let t = 0; t < steps; t++) {
    const row = t * batch * units;
    h = product(h, us, batch, units, units).map((sum, at) => Math.tanh(xs[row + at] + sum));
  }
  return {
    name: 'kept-weights',
    program: programOf({ ...types, x: f32(steps, batch, units) }, ({ x, h, u }) => {
      const [last] = foreach(body, { data: [x], states: [h], captures: [u] });
      return { last };
    }),
    inputs: arrays,
    expected: [h],
  };
}

function doubling(): GoldenCase {
  const condition = programOf({ x: f32(6) }, ({ x }) => ({ goesOn: less(sum(x), 100) }));
  const body = programOf({ x: f32(6) }, ({ x }) => ({ x: mul(x, 2) }));
  const start = numbers(6, 30).map(Math.abs);
  let end = start;
  let count = 0;
  while (end.reduce((a, b) => a + b) < 100) {
    end = end.map((value) => value * 2);
    count++;
  }
  return {
    name: 'while-loop',
    program: programOf({ x: f32(6) }, ({ x }) => {
      const [end, count] = whileLoop(condition, body, { states: [x], captures: [] });
      return { end, count };
    }),
    inputs: [operand('float32', [6], start)],
    expected: [end, [count]],
  };
}

function branch(): GoldenCase {
  const then = programOf({ x: f32(9) }, ({ x }) => ({ y: mul(x, 2) }));
  const otherwise = programOf({ x: f32(9) }, ({ x }) => ({ y: tanh(neg(x)) }));
  const x = array(40, 9);
  const xs = plain(x);
  return {
    name: 'cond',
    program: programOf({ x: f32(9) }, ({ x }) => {
      const [y] = cond(greater(sum(x), 0), then, otherwise, [x]);
      return { y };
    }),
    inputs: [x],
    expected: [
      xs.reduce((a, b) => a + b) > 0
        ? xs.map((value) => value * 2)
        : xs.map((value) => Math.tanh(-value)),
    ],
  };
}

function masked(): GoldenCase {
  const x = array(50, 13, 3);
  const xs = plain(x);
  const mask = numbers(13, 51).map((value) => value > 0);
  const kept = xs.filter((_, at) => mask[Math.floor(at / 3)]).map((value) => value * value);
  const sums = [0, 1, 2].map((column) =>
    kept.filter((_, at) => at % 3 === column).reduce((a, b) => a + b, 0),
  );
  return {
    name: 'masked-pipeline',
    program: programOf({ x: f32(rows, 3), mask: type('bool', rows) }, ({ x, mask }) => {
      const kept = booleanMask(x, mask);
      const squares = mul(kept, kept);
      return { squares, sums: sum(squares, 0) };
    }),
    inputs: [x, operand('bool', [13], mask)],
    expected: [kept, sums],
  };
}

/** Loops and branches, and a program whose data decides a size. */
export function controlCases(): readonly GoldenCase[] {
  return [lstmLoop(), keptWeights(), doubling(), branch(), masked()];
}
