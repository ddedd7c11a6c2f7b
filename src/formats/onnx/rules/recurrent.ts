import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { type LoopResults, foreachRow } from './loops.js';
import { rule, type ImportRules } from './rule.js';

type Activation = (x: Value) => Value;

/** A kind of activation, with the defaults of the coefficients that it takes. */
interface ActivationKind {
  readonly alpha?: number;
  readonly beta?: number;
  of(x: Value, alpha: number, beta: number): Value;
}

/** Kinds of activations by their names in lower case. */
const activationKinds: ReadonlyMap<string, ActivationKind> = new Map<string, ActivationKind>([
  ['sigmoid', { of: (x) => ops.sigmoid(x) }],
  ['tanh', { of: (x) => ops.tanh(x) }],
  ['relu', { of: (x) => ops.relu(x) }],
  ['affine', { alpha: 1, beta: 0, of: (x, alpha, beta) => ops.add(ops.mul(x, alpha), beta) }],
  ['leakyrelu', { alpha: 0.01, of: (x, slope) => ops.leakyRelu(x, { slope }) }],
  ['thresholdedrelu', { alpha: 1, of: (x, alpha) => ops.where(ops.greater(x, alpha), x, 0) }],
  ['scaledtanh', { alpha: 1, beta: 1, of: (x, alpha, beta) => ops.mul(ops.tanh(ops.mul(x, beta)), alpha) }],
  ['hardsigmoid', { alpha: 0.2, beta: 0.5, of: (x, alpha, beta) => ops.clip(ops.add(ops.mul(x, alpha), beta), 0, 1) }],
  ['elu', { alpha: 1, of: (x, alpha) => ops.elu(x, { alpha }) }],
  ['softsign', { of: (x) => ops.softsign(x) }],
  ['softplus', { of: (x) => ops.softplus(x) }],
]); // prettier-ignore

/** The activations of one direction, from the node's names and coefficients. */
function activationsOf(
  node: ImportedNode,
  direction: number,
  defaults: readonly string[],
): readonly Activation[] {
  const given = node.attributes.strings('activations', null);
  const alphas = node.attributes.floats('activation_alpha', []);
  const betas = node.attributes.floats('activation_beta', []);
  // Coefficients are listed only for functions that take any.
  let [nextAlpha, nextBeta] = [0, 0];
  const made = (given ?? defaults).map((name): Activation => {
    const kind = activationKinds.get(name.toLowerCase());
    if (kind === undefined) throw node.unsupported('no such activation', name);
    const { alpha, beta } = kind;
    const a = alpha === undefined ? 0 : (alphas[nextAlpha++] ?? alpha);
    const b = beta === undefined ? 0 : (betas[nextBeta++] ?? beta);
    return (x) => kind.of(x, a, b);
  });
  return given === null ? made : made.slice(direction * defaults.length, (direction + 1) * defaults.length); // prettier-ignore
}

/** One step of a kind of cell. */
interface Cell {
  readonly gates: number;
  readonly activations: readonly string[];
  /** The new states; the first is the output. */
  step(parts: StepParts): readonly Value[];
}

interface StepParts {
  /** Contribution of the input to the gates, bias included: [N, gates * H]. */
  readonly x: Value;
  readonly states: readonly Value[];
  /** The recurrent weights, transposed: [H, gates * H]. */
  readonly weights: Value;
  /** The recurrent bias, [gates * H]. */
  readonly bias: Value | null;
  readonly peepholes: Value | null;
  readonly activations: readonly Activation[];
  readonly held: (x: Value) => Value;
  readonly node: ImportedNode;
}

const plain: Cell = {
  gates: 1,
  activations: ['Tanh'],
  step: ({ x, states: [h], weights, bias, activations: [f], held }) => [
    f(held(plus(ops.add(x, ops.matmul(h, weights)), bias))),
  ],
};

function plus(x: Value, bias: Value | null): Value {
  return bias === null ? x : ops.add(x, bias);
}

const lstm: Cell = {
  gates: 4,
  activations: ['Sigmoid', 'Tanh', 'Tanh'],
  step: ({
    x,
    states: [h, c],
    weights,
    bias,
    peepholes,
    activations: [f, g, after],
    held,
    node,
  }) => {
    const all = plus(ops.add(x, ops.matmul(h, weights)), bias);
    const [input, output, forget, cell] = ops.split(all, 4, -1);
    const [seeInput, seeOutput, seeForget] = peepholes === null ? [null, null, null] : ops.split(peepholes, 3, -1); // prettier-ignore
    const seen = (gate: Value, sees: Value | null, state: Value): Value =>
      sees === null ? gate : ops.add(gate, ops.mul(sees, state));
    const opened = f(held(seen(input, seeInput, c)));
    const kept = node.attributes.flag('input_forget') ? ops.sub(1, opened) : f(held(seen(forget, seeForget, c))); // prettier-ignore
    const next = ops.add(ops.mul(kept, c), ops.mul(opened, g(held(cell))));
    const shown = f(held(seen(output, seeOutput, next)));
    return [ops.mul(shown, after(next)), next];
  },
};

const gru: Cell = {
  gates: 3,
  activations: ['Sigmoid', 'Tanh'],
  step: ({ x, states: [h], weights, bias, activations: [f, g], held, node }) => {
    const [xz, xr, xh] = ops.split(x, 3, -1);
    const [wz, wr, wh] = ops.split(weights, 3, -1);
    const [bz, br, bh] = bias === null ? [null, null, null] : ops.split(bias, 3, -1);
    const update = f(held(plus(ops.add(xz, ops.matmul(h, wz)), bz)));
    const reset = f(held(plus(ops.add(xr, ops.matmul(h, wr)), br)));
    const isLinearFirst = node.attributes.flag('linear_before_reset');
    const recurrent = isLinearFirst
      ? ops.mul(reset, plus(ops.matmul(h, wh), bh))
      : plus(ops.matmul(ops.mul(reset, h), wh), bh);
    const proposed = g(held(ops.add(xh, recurrent)));
    return [ops.add(ops.mul(ops.sub(1, update), proposed), ops.mul(update, h))];
  },
};

/** Runs a cell over the rows of the operand, in one or both directions. */
function recurrence(node: ImportedNode, cell: Cell): readonly Value[] {
  const isBatchFirst = node.attributes.int('layout', 0) === 1;
  const swap = (x: Value): Value => (isBatchFirst ? ops.swapaxes(x, 0, 1) : x);
  for (const index of [0, 1, 2, 5, 6]) node.expectRank(index, 3);
  node.expectRank(3, 2);
  node.expectRank(4, 1);
  const x = swap(node.value(0));
  const [w, r] = [node.value(1), node.value(2)];
  const [length, batch] = x.type.shape;
  const hidden = r.type.shape[2];
  const { dtype } = x.type;
  const direction = node.attributes.string('direction', 'forward');
  const directions = direction === 'bidirectional' ? 2 : 1;
  const hasCell = cell === lstm;
  const clip = node.attributes.float('clip', null);
  const held = (value: Value): Value => (clip === null ? value : ops.clip(value, -clip, clip));
  const initial = (index: number, each: number): Value =>
    node.has(index)
      ? ops.slice(swap(node.value(index)), each)
      : node.filled([batch, hidden], 0, dtype);
  const found = Array.from({ length: directions }, (_, each) => {
    const bias = node.optional(3);
    const half = bias === null ? null : ops.split(ops.slice(bias, each), 2, 0);
    const weights = ops.transpose(ops.slice(r, each));
    const projected = ops.matmul(x, ops.transpose(ops.slice(w, each)));
    const peepholes = hasCell && node.has(7) ? ops.slice(node.value(7), each) : null;
    const activations = activationsOf(node, each, cell.activations);
    const lengths = node.optional(4);
    const states = [initial(5, each), ...(hasCell ? [initial(6, each)] : [])];
    return foreachRow(
      node,
      {
        data: [
          half === null ? projected : ops.add(projected, half[0]),
          ...(lengths === null ? [] : [node.iota(length, 'int32')]),
        ],
        states,
        reverse: direction === 'reverse' || each === 1,
      },
      ({ rows: [row, at], states: before }, outer): LoopResults => {
        const after = cell.step({
          x: row,
          states: before,
          weights: outer(weights),
          bias: half === null ? null : outer(half[1]),
          peepholes: peepholes === null ? null : outer(peepholes),
          activations,
          held,
          node,
        });
        if (lengths === null) return { rows: [after[0]], states: after };
        // After the end of a sequence the states stay, and the outputs are zero.
        const runs = ops.expandDims(ops.less(at, outer(lengths)), 1);
        return {
          rows: [ops.where(runs, after[0], 0)],
          states: after.map((value, k) => ops.where(runs, value, before[k])),
        };
      },
    );
  });
  const rows = ops.stack(
    found.map(({ rows: [all] }) => all),
    1,
  );
  const last = Array.from({ length: hasCell ? 2 : 1 }, (_, k) =>
    swap(
      ops.stack(
        found.map(({ states }) => states[k]),
        0,
      ),
    ),
  );
  return [isBatchFirst ? ops.transpose(rows, [2, 0, 1, 3]) : rows, ...last];
}

export const recurrent: ImportRules = {
  RNN: rule((node) => recurrence(node, plain)),
  GRU: rule((node) => recurrence(node, gru)),
  LSTM: rule((node) => recurrence(node, lstm)),
};
