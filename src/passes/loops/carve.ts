import { type Bounds, type Dim, type DimExpr, sameDim, symbolsOf } from '../../base/dim/index.js';
import { symbolsOfAttributes } from '../../base/attributes/schema.js';
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import { nodesBehind } from '../../ir/behind.js';
import { symbolsOfShape, undeterminedSymbols } from '../../ir/bind.js';
import { type Output, Program, type Value } from '../../ir/program.js';
import { dimsOf, speaksOnlyOf } from '../../ir/requirement.js';
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

/** A region of a call of which a part is carved. */
export interface RegionCarving extends Carving {
  readonly from: Program;
  /** Binding of the region's symbols in the program of the call. */
  readonly dims: ReadonlyMap<string, Dim>;
  /** Keep all requirements that speak of these symbols. Default: those whose sizes occur in the part. */
  readonly keepsRequirements?: boolean;
}

/** Regions, and the sizes that their call passes them. */
export interface CarvedRegions {
  readonly regions: readonly Program[];
  readonly sizes: readonly Dim[];
}

/** Carves all regions of a call. They are passed the sizes that the inputs of the parts do not determine. */
export function carveRegions(parts: readonly RegionCarving[]): CarvedRegions {
  const passed: { readonly dim: Dim; readonly own: (DimExpr | undefined)[] }[] = [];
  parts.forEach((part, k) => {
    for (const size of sizesToPass(part)) {
      const dim = part.dims.get(size.key);
      if (dim === undefined) throw new InternalError(`nothing tells the size ${size.key}`);
      const shared = passed.find((one) => sameDim(one.dim, dim) && one.own[k] === undefined);
      if (shared !== undefined) shared.own[k] = size;
      else passed.push({ dim, own: parts.map((_, i) => (i === k ? size : undefined)) });
    }
  });
  return {
    regions: parts.map((part, k) =>
      carve(
        part.from,
        part,
        passed.map(({ own }) => own[k]),
      ),
    ),
    sizes: passed.map(({ dim }) => dim),
  };
}

/** The sizes of a region that a part of it speaks of, and that neither its inputs nor its calls tell. */
function sizesToPass(part: RegionCarving): readonly DimExpr[] {
  const { from, dims, inputs, keepsRequirements = false } = part;
  const types = inputs.flatMap(({ stands }) => stands.find(({ program }) => program === from)?.type ?? []); // prettier-ignore
  const spoken = new Map<string, Bounds>();
  const decided = new Set<string>();
  for (const id of nodesOfPart(part, from)) {
    const node = from.node(id);
    if (node.kind !== 'call') continue;
    for (const type of node.types) symbolsOfShape(type.shape, spoken);
    symbolsOfAttributes(node.op.attributes, node.attributes, spoken);
    for (const { size } of node.decides) symbolsOf(size, decided);
  }
  for (const requirement of keepsRequirements ? from.requirements : []) {
    if (speaksOnlyOf(requirement, dims)) symbolsOfShape(dimsOf(requirement), spoken);
  }
  return undeterminedSymbols(types, spoken).filter(({ key }) => dims.has(key) || !decided.has(key));
}

/** The nodes that a part has copies of. */
function nodesOfPart({ inputs, outputs, made }: Carving, from: Program): readonly NodeId[] {
  const given = new Set(inputs.flatMap(({ stands }) => stands));
  const ends = outputs.map(({ value }) => value);
  return nodesBehind(from, ends, (value) => given.has(value) || made?.has(value) === true);
}

/**
 * The part of a program between some of its values and others: the computation of `outputs`, given `inputs`.
 * It keeps the requirements of the whole as far as their sizes occur in it. Of its size parameters, those that are
 * undefined are placeholders.
 */
export function carve(
  from: Program,
  carving: Carving,
  sizes: readonly (DimExpr | undefined)[] = from.sizes,
): Program {
  const { inputs, outputs, made = new Map<Value, Make>() } = carving;
  const fill = (into: Program): void => {
    for (const size of sizes) into.takeSize(size ?? into.freshDim('size'));
    const known = new Map<Value, Value>();
    for (const { name, stands, outside } of inputs) {
      const own = stands.filter(({ program }) => program === from);
      const type = own.length > 0 ? own[0].type : withOwnSymbols(into, outside);
      const variable = into.variable(into.freshName(name), type);
      for (const value of own) known.set(value, variable);
    }
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
    for (const id of nodesOfPart(carving, from)) {
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
  };
  return Program.from(from, fill, []);
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
