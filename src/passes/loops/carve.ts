import { InternalError } from '../../base/errors.js';
import { nodesBehind } from '../../ir/behind.js';
import { type Output, Program, type Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { requireKnown } from '../rewrite/transform.js';

/** A cut point that becomes an input of the carved program. */
export interface CarvedInput {
  readonly name: string;
  /** Values of any program: those of the carved one are read from this input instead of computed. */
  readonly stands: readonly Value[];
  /** The outer type, where it stands for nothing; symbols in it become the new program's own. */
  readonly outside: TensorType;
}

export interface Carving {
  readonly inputs: readonly CarvedInput[];
  readonly outputs: readonly Output[];
  /** Values that are constructed in place instead of being read or computed. */
  readonly made?: ReadonlyMap<Value, Make>;
}

export type Make = (into: Program) => Value;

/**
 * The part of a program between some of its values and others: the computation of `outputs`, given `inputs`.
 * It keeps the requirements of the whole as far as their sizes occur in it.
 */
export function carve(from: Program, { inputs, outputs, made = new Map() }: Carving): Program {
  return Program.from(from, (into) => {
    const known = new Map<Value, Value>();
    for (const { name, stands, outside } of inputs) {
      const own = stands.filter(({ program }) => program === from);
      const type = own.length > 0 ? own[0].type : withOwnSymbols(into, outside);
      const variable = into.variable(into.freshName(name), type);
      for (const value of own) known.set(value, variable);
    }
    const ends = outputs.map(({ value }) => value);
    const isGiven = (value: Value): boolean => known.has(value) || made.has(value);
    const valueOf = (value: Value): Value => {
      let copy = known.get(value);
      if (copy === undefined) {
        const make = made.get(value);
        if (make === undefined) throw new InternalError('a value that is needed was left out');
        known.set(value, (copy = make(into)));
      }
      return copy;
    };
    for (const id of nodesBehind(from, ends, isGiven)) {
      const node = from.node(id);
      if (node.kind === 'check') continue;
      if (node.kind === 'variable') throw new InternalError(`input ${node.name} was left out`);
      const copies =
        node.kind === 'constant'
          ? [into.constant(node.data)]
          : into.appendTyped(
              node.op,
              from.operands(id).map(valueOf),
              node.attributes,
              node.types,
              node,
            );
      from.results(id).forEach((result, port) => {
        if (!isGiven(result)) known.set(result, copies[port]);
      });
    }
    into.setOutputs(
      distinctNames(outputs).map(({ name, value }) => ({ name, value: valueOf(value) })),
    );
    requireKnown(from, into);
  });
}

function withOwnSymbols(into: Program, { dtype, shape }: TensorType): TensorType {
  return {
    dtype,
    shape: shape.map((dim) => (typeof dim === 'number' ? dim : into.freshDim('size'))),
  };
}

function distinctNames(outputs: readonly Output[]): readonly Output[] {
  const taken = new Set<string>();
  return outputs.map(({ name, value }) => {
    let free = name;
    for (let count = 2; taken.has(free); count++) free = `${name}_${count}`;
    taken.add(free);
    return { name: free, value };
  });
}
