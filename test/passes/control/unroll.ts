import { type Dim, substituteDim } from '../../../src/base/dim/index.js';
import { allocate } from '../../../src/base/dtype.js';
import { encodeAttributes, mapAttributeDims } from '../../../src/base/attributes/schema.js';
import { bindProgram, bindShapes, substituteType } from '../../../src/ir/bind.js';
import { type CallNode, namedInputs, Program, type Value } from '../../../src/ir/program.js';
import { concat, stack } from '../../../src/ops/movement/concat.js';
import { fill } from '../../../src/ops/movement/fill.js';
import { slice } from '../../../src/ops/movement/slice.js';
import { declarationOf, sizesPassedBy } from '../../../src/ops/declare/facets.js';
import { compile } from '../../../src/runtime/compile/compile.js';
import type { Executable, Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { sizeOf } from '../../support/arrays.js';

/*
 * What control flow means, by a walk over the program: one iteration after the other, one branch. Beside
 * the arrays it writes down what it does as a program without any control flow, the unrolled one, whose
 * gradient is the independent truth about the gradient of the other.
 */

/** An array, and the value of the unrolled program that is computed the same way. */
interface Both {
  readonly array: Operand;
  readonly value: Value;
}

export interface Unrolled {
  readonly outputs: readonly Operand[];
  readonly program: Program;
}

/** Runs a program on arrays, writing down its iterations one after the other. */
export function unroll(
  program: Program,
  inputs: readonly Operand[],
  sizes: readonly number[] = [],
): Unrolled {
  const into = new Program();
  const both = inputs.map((array, k) => {
    const { name } = namedInputs(program)[k];
    const value = into.variable(name, { dtype: array.storage.dtype, shape: array.shape });
    return { array, value };
  });
  const outputs = walk(program, both, into, sizes);
  into.setOutputs(outputs.map(({ value }, k) => ({ name: program.outputs[k].name, value })));
  return { outputs: outputs.map(({ array }) => array), program: into };
}

/** Runs a program on arrays. */
export function run(
  program: Program,
  inputs: readonly Operand[],
  sizes: readonly number[] = [],
): readonly Operand[] {
  return unroll(program, inputs, sizes).outputs;
}

function walk(
  program: Program,
  inputs: readonly Both[],
  into: Program,
  passed: readonly Dim[] = [],
): readonly Both[] {
  const types = inputs.map(({ value }) => value.type);
  const sizes = bindProgram(program, types, passed, 'walk');
  const results: (readonly Both[])[] = [];
  let input = 0;
  for (const id of program.graph.nodes()) {
    const node = program.node(id);
    if (node.kind === 'variable') results.push([inputs[input++]]);
    else if (node.kind === 'constant') {
      const { type, data } = node.data;
      const array = { storage: new Storage(type.dtype, data), shape: type.shape };
      results.push([{ array, value: into.constant(node.data) }]);
    } else if (node.kind === 'check') results.push([]);
    else {
      const operands = program.operands(id).map((value) => results[value.node][value.port]);
      const made = runCall(inSizes(node, sizes), operands, into);
      const matches = made.map(({ array }, k) => ({
        name: `result ${k}`,
        declared: node.types[k].shape,
        actual: array.shape as readonly Dim[],
      }));
      for (const [name, size] of bindShapes(matches, node.op.name, sizes)) sizes.set(name, size);
      results.push(made);
    }
  }
  return program.outputs.map(({ value }) => results[value.node][value.port]);
}

function inSizes(node: CallNode, sizes: ReadonlyMap<string, Dim>): CallNode {
  return {
    ...node,
    types: node.types.map((type) => substituteType(type, sizes)),
    attributes: mapAttributeDims(node.op.attributes, node.attributes, (dim) =>
      substituteDim(dim, sizes),
    ),
  };
}

function runCall(node: CallNode, operands: readonly Both[], into: Program): readonly Both[] {
  const { lowering } = declarationOf(node.op);
  switch (lowering.kind) {
    case 'inline':
      return walk(node.regions[0], operands, into, sizesPassedBy(node));
    case 'branch': {
      const [predicate, ...captures] = operands;
      return walk(node.regions[truth(predicate) ? 0 : 1], captures, into, sizesPassedBy(node));
    }
    case 'foreach': {
      const { data, states, reverse, counted } = lowering.loop(node.attributes);
      const end = operands.length - Number(counted);
      const length = operands[0].array.shape[0];
      const count = counted ? Number(operands[end].array.storage.host[0]) : length;
      const order = Array.from({ length: count }, (_, i) => (reverse ? count - 1 - i : i));
      const loop = new Loop(node, states, operands.slice(data, data + states), into);
      for (const i of order) {
        const slices = operands.slice(0, data).map((each) => rowOf(each, i));
        loop.step([...slices, ...loop.states, ...operands.slice(data + states, end)]);
      }
      return [...loop.stacked(length, reverse), ...loop.states];
    }
    case 'while': {
      const { states, limit, padded } = lowering.loop(node.attributes);
      const loop = new Loop(node, states, operands.slice(0, states), into);
      const most = Number(limit ?? Infinity);
      let count = 0;
      for (; count < most; count++) {
        const given = [...loop.states, ...operands.slice(states)];
        if (!truth(walk(node.regions[0], given, into, sizesPassedBy(node))[0])) break;
        loop.step(given);
      }
      const iterations = {
        type: { dtype: 'int32', shape: [] },
        data: Int32Array.of(count),
      } as const;
      const last = {
        array: { storage: new Storage('int32', iterations.data), shape: [] },
        value: into.constant(iterations),
      };
      return [...loop.stacked(padded ? most : count, false), ...loop.states, last];
    }
    default:
      return runPrimitive(node, operands, into);
  }
}

/** Iterations so far. */
class Loop {
  states: readonly Both[];
  readonly #body: Program;
  readonly #sizes: readonly Dim[];
  readonly #rows: Both[][];
  readonly #types: CallNode['types'];
  readonly #into: Program;

  constructor(node: CallNode, states: number, first: readonly Both[], into: Program) {
    this.#body = node.regions.at(-1)!;
    this.#sizes = sizesPassedBy(node);
    this.#types = node.types;
    this.#into = into;
    this.states = first;
    this.#rows = this.#body.outputs.slice(states).map(() => []);
  }

  step(operands: readonly Both[]): void {
    const made = walk(this.#body, operands, this.#into, this.#sizes);
    this.#rows.forEach((rows, k) => rows.push(made[k]));
    this.states = made.slice(this.#rows.length);
  }

  stacked(length: number, reverse: boolean): Both[] {
    return this.#rows.map((rows, k) => {
      const { dtype, shape: declared } = this.#types[k];
      const tail = declared.slice(1).map((dim, axis) => rows[0]?.array.shape[axis] ?? Number(dim));
      const shape = [length - rows.length, ...tail];
      const rest = {
        array: { storage: new Storage(dtype, allocate(dtype, sizeOf(shape))), shape },
        value: this.#into.append(fill.declaration, [], { shape, value: 0, dtype })[0],
      };
      if (rows.length === 0) return rest;
      const list = reverse ? rows.toReversed() : rows;
      const parts = list.map(({ value }) => value);
      const stacked = stack<Value>(parts);
      return {
        array: joined([...list.map(({ array }) => array), rest.array], [length, ...tail]),
        value: length === rows.length ? stacked : concat<Value>([stacked, rest.value]),
      };
    });
  }
}

function joined(parts: readonly Operand[], shape: readonly number[]): Operand {
  const { dtype } = parts[0].storage;
  const storage = new Storage(dtype, allocate(dtype, sizeOf(shape)));
  let at = 0;
  for (const part of parts) {
    (storage.host as Float64Array).set(part.storage.host as Float64Array, at);
    at += part.storage.length;
  }
  return { storage, shape };
}

function rowOf({ array, value }: Both, i: number): Both {
  const shape = array.shape.slice(1);
  const size = sizeOf(shape);
  const storage = new Storage(
    array.storage.dtype,
    array.storage.host.slice(i * size, (i + 1) * size),
  );
  return { array: { storage, shape }, value: slice<Value>(value, i) };
}

function truth({ array }: Both): boolean {
  return Number(array.storage.host[0]) !== 0;
}

const compiled = new Map<string, Executable>();

/** Everything else is run by itself, on the interpreter of kernels. */
function runPrimitive(node: CallNode, operands: readonly Both[], into: Program): readonly Both[] {
  const values = operands.map(({ value }) => value);
  const results = into.append(node.op, values, node.attributes, node);
  const types = operands.map(({ array }) => `${array.storage.dtype}[${array.shape.join()}]`);
  const attributes = JSON.stringify(encodeAttributes(node.op.attributes, node.attributes));
  const key = `${node.op.name} ${attributes} ${types.join()}`;
  let executable = compiled.get(key);
  if (executable === undefined) {
    const alone = new Program();
    const inputs = values.map(({ type }, k) => alone.variable(`x${k}`, type));
    const made = alone.append(node.op, inputs, node.attributes, node);
    alone.setOutputs(made.map((value, k) => ({ name: `y${k}`, value })));
    executable = compile(alone, { target: 'interpreter', fuse: false });
    if (node.regions.length === 0) compiled.set(key, executable);
  }
  const arrays = executable.run(operands.map(({ array }) => array));
  return arrays.map((array, k) => ({ array, value: results[k] }));
}
