import assert from 'node:assert/strict';
import { evaluateDim, substituteDim } from '../../../src/base/dim/index.js';
import { mapAttributeDims } from '../../../src/base/attributes/schema.js';
import { bindProgram } from '../../../src/ir/bind.js';
import { type CallNode, namedInputs, Program, type Value } from '../../../src/ir/program.js';
import type { Declaration } from '../../../src/ops/declare/declare.js';
import { sizesPassedBy } from '../../../src/ops/declare/facets.js';
import { fill, slice, stack } from '../../../src/ops/index.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { numbersOf, randomOperand } from '../../support/arrays.js';
import { operand } from '../../support/programs.js';

/** Random arrays for the inputs of a program, whose symbols have these sizes. */
export function inputsOf(
  program: Program,
  sizes: Readonly<Record<string, number>> = {},
  random: () => number = generator(1),
): readonly Operand[] {
  const bindings = new Map(Object.entries(sizes));
  return namedInputs(program).map(({ type: { dtype, shape } }) =>
    randomOperand(
      random,
      shape.map((dim) => evaluateDim(dim, bindings)),
      dtype,
    ),
  );
}

/** Numbers from 0 to 1, the same for the same seed (Park and Miller). */
export function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

/**
 * Runs a program call by call, its loops by their definition: iterations one after the other, in this
 * language.
 */
export function run(
  program: Program,
  operands: readonly Operand[],
  sizes: readonly number[] = [],
): readonly Operand[] {
  const types = operands.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
  const dims = bindProgram<number>(program, types, sizes);
  const results: (readonly Operand[])[] = [];
  let input = 0;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable') results.push([operands[input++]]);
    else if (node.kind === 'constant') {
      const { type, data } = node.data;
      const elements = Array.from({ length: data.length }, (_, i) => data[i]);
      results.push([operand(type.dtype, type.shape, elements)]);
    } else if (node.kind === 'check') results.push([]);
    else {
      const read = program.operands(id).map(({ node: from, port }) => results[from][port]);
      const made = runCall(node, read, dims);
      node.types.forEach(({ shape }, k) =>
        shape.forEach((dim, axis) => {
          const isKnown = substituteDim(dim, dims);
          if (typeof isKnown !== 'number') dims.set(String(dim), made[k].shape[axis]);
          else assert.equal(made[k].shape[axis], isKnown, `${node.op.name}, result ${k}`);
        }),
      );
      results.push(made);
    }
  }
  return program.outputs.map(({ value }) => results[value.node][value.port]);
}

function runCall(
  node: CallNode,
  operands: readonly Operand[],
  dims: ReadonlyMap<string, number>,
): readonly Operand[] {
  const { lowering } = node.op as Declaration;
  const sizes = sizesPassedBy(node).map((dim) => evaluateDim(dim, dims));
  if (lowering.kind === 'foreach') {
    const { data, states, reverse, counted } = lowering.loop(node.attributes);
    const body = node.regions[0];
    const read = counted ? operands.slice(0, -1) : operands;
    const [length] = operands[0].shape;
    const count = counted ? numbersOf(operands[operands.length - 1])[0] : length;
    const rows: (readonly Operand[])[] = [];
    let carried = operands.slice(data, data + states);
    for (let i = 0; i < count; i++) {
      const t = reverse ? count - 1 - i : i;
      const slices = read.slice(0, data).map((array) => direct([array], (x) => slice(x, t)));
      const made = run(body, [...slices, ...carried, ...read.slice(data + states)], sizes);
      rows[t] = made.slice(0, made.length - states);
      carried = made.slice(made.length - states);
    }
    const types = node.types.slice(0, node.types.length - states);
    return [...stacked(types, rows, length, dims), ...carried];
  }
  if (lowering.kind === 'while') {
    const { states, limit, padded } = lowering.loop(node.attributes);
    const [condition, body] = node.regions;
    const most = limit === null ? Infinity : evaluateDim(limit, dims);
    const rows: (readonly Operand[])[] = [];
    let carried = operands.slice(0, states);
    let count = 0;
    for (; count < most; count++) {
      const read = [...carried, ...operands.slice(states)];
      if (numbersOf(run(condition, read, sizes)[0])[0] === 0) break;
      const made = run(body, read, sizes);
      rows.push(made.slice(0, made.length - states));
      carried = made.slice(made.length - states);
    }
    const types = node.types.slice(0, node.types.length - states - 1);
    const length = padded ? most : count;
    const iterations = operand('int32', [], [count]);
    return [...stacked(types, rows, length, dims), ...carried, iterations];
  }
  const program = new Program();
  const inputs = operands.map(({ storage, shape }, i) =>
    program.variable(`x${i}`, { dtype: storage.dtype, shape }),
  );
  const attributes = mapAttributeDims(node.op.attributes, node.attributes, (dim) =>
    substituteDim(dim, dims),
  );
  const values = program.append(node.op, inputs, attributes, { regions: node.regions });
  return execute(program, values, operands);
}

/** Rows as arrays, zero where there is none. */
function stacked(
  types: CallNode['types'],
  rows: readonly (readonly Operand[])[],
  length: number,
  dims: ReadonlyMap<string, number>,
): readonly Operand[] {
  return types.map(({ dtype, shape }, k) => {
    const row = (): number[] =>
      rows.find((made) => made !== undefined)?.[k].shape.slice() ??
      shape.slice(1).map((dim) => evaluateDim(dim, dims));
    const size = row();
    const program = new Program();
    const given: Operand[] = [];
    const parts = Array.from({ length }, (_, t): Value => {
      const made = rows[t]?.[k];
      if (made === undefined)
        return program.append(fill.declaration, [], { shape: size, value: 0, dtype })[0];
      given.push(made);
      return program.variable(`x${t}`, { dtype, shape: made.shape });
    });
    const whole =
      parts.length > 0
        ? stack<Value>(parts)
        : program.append(fill.declaration, [], { shape: [0, ...size], value: 0, dtype })[0];
    return execute(program, [whole], given)[0];
  });
}

function direct(operands: readonly Operand[], f: (...values: Value[]) => Value): Operand {
  const program = new Program();
  const inputs = operands.map(({ storage, shape }, i) =>
    program.variable(`x${i}`, { dtype: storage.dtype, shape }),
  );
  return execute(program, [f(...inputs)], operands)[0];
}

function execute(
  program: Program,
  values: readonly Value[],
  operands: readonly Operand[],
): readonly Operand[] {
  program.setOutputs(values.map((value, i) => ({ name: `y${i}`, value })));
  return compile(program, { target: 'interpreter', fuse: false }).run(operands);
}

/** Checks that two programs compute the same, up to a tolerance relative to the magnitude, at least 1. */
export function agree(
  before: Program,
  after: Program,
  inputs: readonly Operand[],
  tolerance = 0,
): void {
  const [expected, actual] = [run(before, inputs), run(after, inputs)];
  assert.equal(actual.length, expected.length);
  expected.forEach((array, k) => {
    assert.deepEqual(actual[k].shape, array.shape, `output ${k}`);
    const [wanted, got] = [numbersOf(array), numbersOf(actual[k])];
    wanted.forEach((value, i) => {
      const error = Math.abs(got[i] - value) / Math.max(1, Math.abs(value));
      assert.ok(
        Object.is(got[i], value) || error <= tolerance,
        `output ${k}, element ${i}: ${got[i]} for ${value}`,
      );
    });
  });
}

/** How many calls of an operator there are in a program, and in the regions below it. */
export function counts(program: Program, op: string): { outside: number; inside: number } {
  let [outside, inside] = [0, 0];
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind !== 'call') continue;
    if (node.op.name === op) outside++;
    for (const region of node.regions) {
      const found = counts(region, op);
      inside += found.outside + found.inside;
    }
  }
  return { outside, inside };
}
