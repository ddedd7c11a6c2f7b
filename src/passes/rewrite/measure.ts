import { boundsOf, type Dim, sizeOf, symbol } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import { bindShapes, symbolsOfTypes } from '../../ir/bind.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { requireNow } from '../../ir/requirement.js';
import { extents } from '../../ops/dynamic/extents.js';
import { fill } from '../../ops/movement/fill.js';
import { reshape } from '../../ops/movement/reshape.js';
import { knownElementsOf } from '../../ops/known/elements.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { type Site, transform } from './transform.js';

/** Whether a call is nothing but the sizes that the elements of its operand are. */
export function isExtents({ op }: CallNode): boolean {
  return op === extents.declaration;
}

/** What stands for sizes whose numbers, or other sizes, are known; undefined where they are not, or may not fit. */
export function knownExtents(
  { types: [{ dtype, shape }] }: CallNode,
  { operands: [sizes], into }: Site,
): readonly Value[] | undefined {
  const known = knownElementsOf(into).all(sizes);
  const isPossible = known?.every((size, axis) => {
    const [actual, { min, max }] = [boundsOf(size), boundsOf(shape[axis])];
    return actual.min >= min && actual.max <= max;
  });
  // What cannot be is refused when it happens.
  if (isPossible !== true) return undefined;
  return into.append(fill.declaration, [], { shape: known, value: 0, dtype });
}

/** Whether the data of a call may decide sizes, which are computed apart from its results. */
export function isMeasured(call: CallNode): boolean {
  return declarationOf(call.op).measure !== undefined && !isExtents(call);
}

/**
 * Gives those who read the elements of an array that only stands for its sizes others of that shape, so
 * that the array itself needs no memory: it is then nothing but the place where sizes become known.
 */
export function withUnreadExtents(program: Program, region: (region: Program) => Program): Program {
  const read = new Set<NodeId>(program.outputs.map(({ value }) => value.node));
  for (const id of program.graph.nodes())
    for (const { node } of program.operands(id)) read.add(node);
  return transform(
    program,
    ({ node, id, operands, into }) => {
      if (node.kind !== 'call') return undefined;
      if (!read.has(id)) return undefined;
      into.appendNode(node, operands);
      const { dtype, shape } = node.types[0];
      return into.append(fill.declaration, [], { shape, value: 0, dtype });
    },
    { region, wanted: isExtents },
  );
}

/**
 * Appends what computes the sizes that a measured call decides, and gives these their names. Behind it
 * the call is one like any other, whose sizes are known.
 */
export function measureFirst(call: CallNode, operands: readonly Value[], into: Program): void {
  const { op, attributes } = call;
  const dims = decidedDims(
    call,
    operands.map(({ type }) => type),
  );
  let measured = 0;
  for (const sizes of declarationOf(op).measure!({ inputs: operands, attributes })) {
    const count = sizeOf(sizes.type.shape);
    if (typeof count !== 'number')
      throw new InternalError('the number of measured sizes is not known', { op: op.name });
    const decided = dims.slice(measured, measured + count);
    const shape = decided.map(({ dim }, k) => dim ?? into.freshDim(`unused_${k}`));
    const list = sizes.type.shape.length === 1 ? sizes : reshape<Value>(sizes, [count]);
    const most = decided.map((each, k) => each.most ?? greatest(shape[k]));
    const attributes = { most: most.every((bound) => bound === null) ? null : most };
    into.appendTyped(extents.declaration, [list], attributes, [{ dtype: 'bool', shape }]);
    measured += count;
  }
  if (measured !== dims.length) {
    throw new InternalError('an operator measures other sizes than it decides', {
      op: op.name,
      expected: String(dims.length),
      actual: String(measured),
    });
  }
}

function greatest(dim: Dim): number | null {
  const { max } = boundsOf(dim);
  return max === Infinity ? null : max;
}

/** A size that a call decides. */
interface Decided {
  /** Null where no result speaks of it. */
  readonly dim: Dim | null;
  /** The most it can be, where its inference says so. */
  readonly most: Dim | null;
}

/**
 * What became of the dimensions that a call's inference asks for, in that order. Found by inferring once
 * more and matching that against the types on record.
 */
function decidedDims(call: CallNode, operands: readonly Value['type'][]): readonly Decided[] {
  const taken = new Set(symbolsOfTypes([...operands, ...call.types]).keys());
  const asked: string[] = [];
  const bounded: (Dim | null)[] = [];
  const inferred = call.op.infer({
    inputs: operands,
    attributes: call.attributes,
    regions: call.regions,
    fresh: (hint, bounds) => {
      let name = `${hint}__${asked.length}`;
      while (taken.has(name)) name += '_';
      taken.add(name);
      asked.push(name);
      bounded.push(bounds?.most ?? null);
      return symbol(name, bounds);
    },
    require: requireNow,
  });
  const known = new Map<string, Dim>();
  for (const [name, bounds] of symbolsOfTypes(inferred)) {
    if (!asked.includes(name)) known.set(name, symbol(name, bounds));
  }
  const dims = bindShapes<Dim>(
    inferred.map(({ shape }, k) => ({
      name: `result ${k}`,
      declared: shape,
      actual: call.types[k].shape,
    })),
    call.op.name,
    known,
  );
  return asked.map((name, k) => ({ dim: dims.get(name) ?? null, most: bounded[k] }));
}
