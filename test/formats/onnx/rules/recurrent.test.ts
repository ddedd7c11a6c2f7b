import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as kn from '../../../../src/index.js';
import { fromOnnx } from '../../../../src/onnx.js';
import { model, node, value } from '../models.js';

/* Recurrent layers of ONNX against their formulas, one number at a time. */

type Activation = (x: number) => number;
type Attributes = NonNullable<Parameters<typeof node>[3]>;

const sigmoid: Activation = (x) => 1 / (1 + Math.exp(-x));
const [length, batch, features, hidden] = [4, 2, 3, 2];

/** Numbers of no pattern between -1 and 1. */
const noise = (count: number, seed: number): number[] =>
  Array.from({ length: count }, (_, k) => Math.fround(Math.sin(12.9898 * (k + 1) + 78.233 * seed)));

/** The activations that ONNX names, with their coefficients. */
const named: Readonly<Record<string, (alpha: number, beta: number) => Activation>> = {
  Sigmoid: () => sigmoid,
  Tanh: () => Math.tanh,
  Relu: () => (x) => Math.max(0, x),
  Affine: (alpha, beta) => (x) => alpha * x + beta,
  LeakyRelu: (alpha) => (x) => (x < 0 ? alpha * x : x),
  ThresholdedRelu: (alpha) => (x) => (x > alpha ? x : 0),
  ScaledTanh: (alpha, beta) => (x) => alpha * Math.tanh(beta * x),
  HardSigmoid: (alpha, beta) => (x) => Math.min(1, Math.max(0, alpha * x + beta)),
  Elu: (alpha) => (x) => (x < 0 ? alpha * (Math.exp(x) - 1) : x),
  Softsign: () => (x) => x / (1 + Math.abs(x)),
  Softplus: () => (x) => Math.log(1 + Math.exp(x)),
};

/** Coefficients of the activations that take any, as ONNX has them by default. */
const defaults: Readonly<Record<string, readonly number[]>> = {
  Affine: [1, 0],
  LeakyRelu: [0.01],
  ThresholdedRelu: [1],
  ScaledTanh: [1, 1],
  HardSigmoid: [0.2, 0.5],
  Elu: [1],
};

/** Operands of a layer, as flat lists. */
interface Layer {
  readonly gates: number;
  readonly directions: number;
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly r: readonly number[];
  readonly b: readonly number[];
  readonly h: readonly number[];
  readonly c: readonly number[];
  readonly p: readonly number[];
  readonly lengths: readonly number[];
}

function layer(
  gates: number,
  directions: number,
  lengths: readonly number[] = [length, length],
): Layer {
  const all = directions * gates * hidden;
  return {
    gates,
    directions,
    x: noise(length * batch * features, 1),
    w: noise(all * features, 2),
    r: noise(all * hidden, 3),
    b: noise(2 * all, 4),
    h: noise(directions * batch * hidden, 5),
    c: noise(directions * batch * hidden, 6),
    p: noise(directions * 3 * hidden, 7),
    lengths,
  };
}

/** Sums of one unit's gates in a step: from the input, and from the state. */
interface Sums {
  /** `x W + Wb`. */
  readonly given: (gate: number) => number;
  /** `h R + Rb` for any state. */
  readonly recurrent: (gate: number, h: readonly number[]) => number;
  /** A peephole. */
  readonly peephole: (gate: number) => number;
}

/** The new output, and the new memory, of one unit from those of all. */
type Cell = (
  unit: number,
  sums: (unit: number) => Sums,
  h: readonly number[],
  c: readonly number[],
) => readonly [number, number];

/** Outputs `[length, directions, batch, hidden]` and the last states. */
function expectedOf(
  of: Layer,
  cell: (direction: number) => Cell,
  isReverse: (direction: number) => boolean,
) {
  const y = Array.from({ length: length * of.directions * batch * hidden }, () => 0);
  const [lastH, lastC] = [[...of.h], [...of.c]];
  for (let d = 0; d < of.directions; d++) {
    for (let n = 0; n < batch; n++) {
      const state = (d * batch + n) * hidden;
      let h = of.h.slice(state, state + hidden);
      let c = of.c.slice(state, state + hidden);
      const steps = Array.from({ length: of.lengths[n] }, (_, t) => t);
      for (const t of isReverse(d) ? steps.reverse() : steps) {
        const before = h;
        const dot = (
          weights: readonly number[],
          row: number,
          width: number,
          v: readonly number[],
        ): number => v.reduce((sum, each, k) => sum + each * weights[row * width + k], 0);
        const row = (gate: number, unit: number): number => (d * of.gates + gate) * hidden + unit;
        const bias = (gate: number, unit: number, half: number): number =>
          of.b[d * 2 * of.gates * hidden + (half * of.gates + gate) * hidden + unit];
        const x = of.x.slice((t * batch + n) * features, (t * batch + n + 1) * features);
        const sums = (unit: number): Sums => ({
          given: (gate) => dot(of.w, row(gate, unit), features, x) + bias(gate, unit, 0),
          recurrent: (gate, v) => dot(of.r, row(gate, unit), hidden, v) + bias(gate, unit, 1),
          peephole: (gate) => of.p[(d * 3 + gate) * hidden + unit],
        });
        const next = Array.from({ length: hidden }, (_, unit) => cell(d)(unit, sums, before, c));
        h = next.map(([each]) => each);
        c = next.map(([, each]) => each);
        h.forEach(
          (each, unit) => (y[((t * of.directions + d) * batch + n) * hidden + unit] = each),
        );
      }
      h.forEach((each, unit) => (lastH[state + unit] = each));
      c.forEach((each, unit) => (lastC[state + unit] = each));
    }
  }
  return { y, lastH, lastC };
}

/** Runs a node on a layer; `without` leaves operands out. */
function run(
  op: 'RNN' | 'GRU' | 'LSTM',
  of: Layer,
  attributes: Attributes,
  without: readonly string[] = [],
): readonly kn.NDArray[] {
  const all = of.gates * hidden;
  const operands: readonly (readonly [string, readonly number[], readonly number[]])[] = [
    ['x', [length, batch, features], of.x],
    ['w', [of.directions, all, features], of.w],
    ['r', [of.directions, all, hidden], of.r],
    ['b', [of.directions, 2 * all], of.b],
    ['lengths', [batch], of.lengths],
    ['h', [of.directions, batch, hidden], of.h],
    ...(op === 'LSTM'
      ? ([
          ['c', [of.directions, batch, hidden], of.c],
          ['p', [of.directions, 3 * hidden], of.p],
        ] as const)
      : []),
  ];
  const given = operands.filter(([name]) => !without.includes(name));
  const outputs = op === 'LSTM' ? ['y', 'lastH', 'lastC'] : ['y', 'lastH'];
  const bytes = model({
    name: 'layer',
    node: [
      node(
        op,
        operands.map(([name]) => (without.includes(name) ? '' : name)),
        outputs,
        { hidden_size: hidden, ...attributes },
      ),
    ],
    input: given.map(([name, shape]) => value(name, shape, name === 'lengths' ? 6 : 1)),
    output: outputs.map((name) => value(name, [])),
  });
  const arrays = given.map(([name, shape, data]) => {
    const dtype = name === 'lengths' ? 'int32' : 'float32';
    return [name, kn.array([...data], { dtype }).reshape(shape)] as const;
  });
  const results = fromOnnx(bytes).run(Object.fromEntries(arrays));
  return outputs.map((name) => results[name]);
}

function assertNear(found: kn.NDArray, expected: readonly number[], what: string): void {
  const list = found.flatten().tolist() as number[];
  assert.equal(list.length, expected.length, what);
  list.forEach((x, k) =>
    assert.ok(Math.abs(x - expected[k]) < 1e-5, `${what}[${k}] is ${x}, not ${expected[k]}`),
  );
}

const simple =
  (f: Activation): Cell =>
  (unit, sums, h) => [f(sums(unit).given(0) + sums(unit).recurrent(0, h)), 0];

function gru(f: Activation, g: Activation, isLinearFirst: boolean): Cell {
  return (unit, sums, h) => {
    const gate = (which: number, of: number): number =>
      f(sums(of).given(which) + sums(of).recurrent(which, h));
    const own = sums(unit);
    const z = gate(0, unit);
    const reset = isLinearFirst
      ? gate(1, unit) * own.recurrent(2, h)
      : own.recurrent(
          2,
          h.map((each, k) => each * gate(1, k)),
        );
    return [(1 - z) * g(own.given(2) + reset) + z * h[unit], 0];
  };
}

function lstm(
  f: Activation,
  g: Activation,
  after: Activation,
  { peepholes = true, coupled = false, clip = Infinity },
): Cell {
  const held = (x: number): number => Math.min(clip, Math.max(-clip, x));
  return (unit, sums, h, c) => {
    const own = sums(unit);
    const sum = (gate: number): number => own.given(gate) + own.recurrent(gate, h);
    const seen = (gate: number, state: number): number =>
      peepholes ? own.peephole(gate) * state : 0;
    // The gates are input, output, forget and cell.
    const input = f(held(sum(0) + seen(0, c[unit])));
    const forget = coupled ? 1 - input : f(held(sum(2) + seen(2, c[unit])));
    const next = forget * c[unit] + input * g(held(sum(3)));
    return [f(held(sum(1) + seen(1, next))) * after(next), next];
  };
}

describe('recurrent layers of ONNX', () => {
  for (const [name, make] of Object.entries(named)) {
    it(`RNN with ${name}, by default and with coefficients of its own`, () => {
      const of = layer(1, 1);
      const usual = defaults[name] ?? [];
      const cases: readonly (readonly number[])[] =
        usual.length === 0 ? [[]] : [usual, usual.map((x) => 0.5 * x + 0.3)];
      for (const [k, coefficients] of cases.entries()) {
        const [alpha = 0, beta = 0] = coefficients;
        const { y, lastH } = expectedOf(
          of,
          () => simple(make(Math.fround(alpha), Math.fround(beta))),
          () => false,
        );
        const found = run('RNN', of, {
          activations: { strings: [name] },
          ...(k > 0 && { activation_alpha: { floats: [alpha] } }),
          ...(k > 0 && usual.length > 1 && { activation_beta: { floats: [beta] } }),
        });
        assertNear(found[0], y, 'y');
        assertNear(found[1], lastH, 'the last state');
      }
    });
  }

  it('coefficients belong to the activations that take any, over both directions', () => {
    const of = layer(3, 2);
    const activations = ['HardSigmoid', 'Softsign', 'Sigmoid', 'LeakyRelu'];
    const cells = [
      gru(named.HardSigmoid(0.25, 0.75), named.Softsign(0, 0), false),
      gru(sigmoid, named.LeakyRelu(0.125, 0), false),
    ];
    const found = run('GRU', of, {
      direction: 'bidirectional',
      activations: { strings: activations },
      activation_alpha: { floats: [0.25, 0.125] },
      activation_beta: { floats: [0.75] },
    });
    const { y, lastH } = expectedOf(
      of,
      (d) => cells[d],
      (d) => d === 1,
    );
    assertNear(found[0], y, 'y');
    assertNear(found[1], lastH, 'the last state');
  });

  it('an activation that ONNX does not have is refused', () => {
    assert.throws(
      () => run('RNN', layer(1, 1), { activations: { strings: ['Cube'] } }),
      /no such activation/,
    );
  });

  for (const direction of ['forward', 'reverse', 'bidirectional'] as const) {
    const directions = direction === 'bidirectional' ? 2 : 1;
    const isReverse = (d: number): boolean => direction === 'reverse' || d === 1;
    for (const lengths of [
      [length, length],
      [3, 1],
    ]) {
      const name = `${direction}, lengths ${lengths.join()}`;
      it(`RNN, GRU and LSTM, ${name}`, () => {
        const plain = layer(1, directions, lengths);
        const rnn = expectedOf(plain, () => simple(Math.tanh), isReverse);
        const [y, h] = run('RNN', plain, { direction });
        assertNear(y, rnn.y, 'y of RNN');
        assertNear(h, rnn.lastH, 'the last state of RNN');
        const gated = layer(3, directions, lengths);
        for (const isLinearFirst of [false, true]) {
          const wanted = expectedOf(gated, () => gru(sigmoid, Math.tanh, isLinearFirst), isReverse);
          const found = run('GRU', gated, {
            direction,
            linear_before_reset: Number(isLinearFirst),
          });
          assertNear(found[0], wanted.y, 'y of GRU');
          assertNear(found[1], wanted.lastH, 'the last state of GRU');
        }
        const long = layer(4, directions, lengths);
        for (const coupled of [false, true]) {
          for (const clip of [Infinity, 0.5]) {
            const cell = lstm(sigmoid, Math.tanh, Math.tanh, { coupled, clip });
            const wanted = expectedOf(long, () => cell, isReverse);
            const found = run('LSTM', long, {
              direction,
              input_forget: Number(coupled),
              ...(clip < Infinity && { clip: { float: clip } }),
            });
            assertNear(found[0], wanted.y, 'y of LSTM');
            assertNear(found[1], wanted.lastH, 'the last state of LSTM');
            assertNear(found[2], wanted.lastC, 'the last memory of LSTM');
          }
        }
      });
    }
  }

  it('operands that are left out are zeros, and lengths that are left out whole', () => {
    const of = layer(4, 1);
    const zero = (list: readonly number[]): number[] => list.map(() => 0);
    const bare: Layer = { ...of, b: zero(of.b), h: zero(of.h), c: zero(of.c), p: zero(of.p) };
    const cell = lstm(sigmoid, Math.tanh, Math.tanh, { peepholes: false });
    const wanted = expectedOf(
      bare,
      () => cell,
      () => false,
    );
    const found = run('LSTM', of, {}, ['b', 'lengths', 'h', 'c', 'p']);
    assertNear(found[0], wanted.y, 'y');
    assertNear(found[1], wanted.lastH, 'the last state');
    assertNear(found[2], wanted.lastC, 'the last memory');
  });
});
