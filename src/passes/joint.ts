import { GraphError, InternalError } from '../base/errors.js';
import { symbolsOfAttributes } from '../base/schema.js';
import type { NodeId } from '../graph/graph.js';
import { determinedSymbols, symbolsOfTypes } from '../ir/bind.js';
import { namedInputs, type Output, Program, type Value } from '../ir/program.js';
import type { PreparedProgram } from '../ops/structure/call.js';
import { eliminateCommonSubexpressions } from './cse.js';
import { eliminateDeadCode } from './dce.js';
import { appendGradients, floatOutputs } from './gradient.js';
import { inline } from './inline.js';
import type { SavePolicy } from './rematerialize.js';

/** Forward and backward of a program as two programs that share their work. */
export interface JointProgram extends PreparedProgram {
  /** How many outputs of `forward` are the program's own; saved values follow them. */
  readonly outputs: number;
}

/**
 * Differentiates a program and splits the result: `forward` computes its outputs and whatever `backward`
 * reads, as further outputs, so nothing is computed twice. Values that are inputs or outputs anyway are
 * not saved again, constants are copied. `wrt` marks inputs, `flows` outputs (every float one unless
 * said), `save` which of those values are kept and which are computed again.
 */
export function jointProgram(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[] = floatOutputs(program),
  _save: SavePolicy = 'all',
): JointProgram {
  if (!flows.includes(true)) throw new GraphError('no output of this program has a gradient');
  const { joint, boundary } = differentiate(program, wrt, flows);
  const inputs = joint.inputs.slice(0, program.inputs.length);
  const seeds = joint.inputs.slice(program.inputs.length);
  const values = joint.outputs.map(({ value }) => value);
  const results = program.outputs.map(({ name }, k) => ({ name, value: values[k] }));
  const grads = namedInputs(program)
    .filter((_, k) => wrt[k])
    .map(({ name }, k) => ({ name: `grad_${name}`, value: values[results.length + k] }));

  const reads = readsAcross(joint, boundary, grads);
  const saved = [...reads, ...carriersOfDims(joint, boundary, [...reads, ...seeds])];
  const places = new Map<Value, number>();
  [...inputs, ...results.map(({ value }) => value)].forEach((value, place) => {
    if (!places.has(value)) places.set(value, place);
  });
  const extra = saved.filter((value) => !places.has(value));
  extra.forEach((value, k) => places.set(value, inputs.length + results.length + k));
  return {
    forward: part(joint, inputs, (id) => id < boundary, [...results, ...named(extra, results)]),
    backward: part(joint, [...saved, ...seeds], (id) => id >= boundary, grads),
    saved: saved.map((value) => places.get(value)!),
    flows: indicesOf(flows),
    wrt: indicesOf(wrt),
    outputs: results.length,
  };
}

/** The program followed by its gradients, simplified; the backward nodes begin at `boundary`. */
function differentiate(
  program: Program,
  wrt: readonly boolean[],
  flows: readonly boolean[],
): { readonly joint: Program; readonly boundary: number } {
  // A call with a backward of its own keeps it.
  const flat = inline(program, ({ regions }) => regions.length === 1);
  const raw = Program.from(flat, (into) => {
    const { outputs, grads } = appendGradients(flat, into, wrt, flows);
    const all = [...outputs, ...grads.map(({ value }) => value)];
    into.setOutputs(all.map((value, k) => ({ name: `o${k}`, value })));
  });
  const joint = eliminateDeadCode(eliminateCommonSubexpressions(raw));
  return { joint, boundary: joint.inputs[program.inputs.length].node };
}

/** The forward values, constants apart, that backward nodes and gradients read, without repetition. */
function readsAcross(joint: Program, boundary: number, grads: readonly Output[]): Value[] {
  const reads = new Set<Value>();
  const read = (value: Value): void => {
    if (value.node < boundary && joint.node(value.node).kind !== 'constant') reads.add(value);
  };
  for (const id of joint.graph.nodes()) if (id >= boundary) joint.operands(id).forEach(read);
  for (const { value } of grads) read(value);
  return [...reads];
}

/**
 * Further forward values for the backward program, so that each dimension it speaks of is determined by
 * the shape of one of its inputs.
 */
function carriersOfDims(joint: Program, boundary: number, given: readonly Value[]): Value[] {
  const carriers: Value[] = [];
  const known = determinedSymbols(given.map(({ type }) => type));
  const require = (dims: Iterable<string>): void => {
    for (const name of dims) {
      if (known.has(name)) continue;
      const carrier = firstWith(joint, boundary, name);
      carriers.push(carrier);
      for (const found of determinedSymbols([carrier.type])) known.add(found);
    }
  };
  require(symbolsOfTypes(given.map(({ type }) => type)).keys());
  for (const id of joint.graph.nodes()) {
    const node = joint.node(id);
    if (id < boundary || node.kind !== 'call') continue;
    require(symbolsOfAttributes(node.op.attributes, node.attributes).keys());
    // Whatever is new in the results is determined by running the call.
    for (const name of symbolsOfTypes(node.types).keys()) known.add(name);
  }
  return carriers;
}

function firstWith(joint: Program, boundary: number, name: string): Value {
  for (const id of joint.graph.nodes()) {
    if (id >= boundary) break;
    for (const value of joint.results(id)) {
      if (determinedSymbols([value.type]).has(name)) return value;
    }
  }
  throw new InternalError(`no value of the program determines dimension ${name}`);
}

/** A program of some of the nodes, which read `inputs` or constants besides one another. */
function part(
  joint: Program,
  inputs: readonly Value[],
  belongs: (id: NodeId) => boolean,
  outputs: readonly Output[],
): Program {
  return Program.from(joint, (into) => {
    const moved = new Map<Value, Value>();
    for (const value of inputs) {
      const node = joint.node(value.node);
      const name = into.freshName(node.kind === 'variable' ? node.name : 'saved');
      moved.set(value, into.variable(name, value.type));
    }
    const move = (value: Value): Value => {
      let found = moved.get(value);
      if (found === undefined) {
        const node = joint.node(value.node);
        if (node.kind !== 'constant') throw new InternalError('a value was not saved');
        moved.set(value, (found = into.constant(node.data)));
      }
      return found;
    };
    for (const id of joint.graph.nodes()) {
      const node = joint.node(id);
      if (node.kind !== 'call' || !belongs(id)) continue;
      const operands = joint.operands(id).map(move);
      const made = into.appendTyped(node.op, operands, node.attributes, node.types, node);
      joint.results(id).forEach((result, port) => moved.set(result, made[port]));
    }
    into.setOutputs(outputs.map(({ name, value }) => ({ name, value: move(value) })));
  });
}

/** Saved values as outputs, under names that the others do not have. */
function named(values: readonly Value[], others: readonly Output[]): readonly Output[] {
  const taken = new Set(others.map(({ name }) => name));
  let count = 0;
  return values.map((value) => {
    while (taken.has(`saved_${count}`)) count++;
    return { name: `saved_${count++}`, value };
  });
}

function indicesOf(marks: readonly boolean[]): readonly number[] {
  return marks.flatMap((mark, k) => (mark ? [k] : []));
}
