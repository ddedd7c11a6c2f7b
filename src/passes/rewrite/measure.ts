import { boundsOf, type Dim, elementCount } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import type { NodeId } from '../../graph/graph.js';
import type { CallNode, Program, Value } from '../../ir/program.js';
import { extents } from '../../ops/dynamic/extents.js';
import { fill } from '../../ops/movement/fill.js';
import { reshape } from '../../ops/movement/reshape.js';
import { knownElementsOf } from '../../ops/known/elements.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { type Site, transform } from './transform.js';

/** True for a call that makes sizes from the elements of its operand. */
export function isExtents({ op }: CallNode): boolean {
  return op === extents.declaration;
}

/** Replacement of sizes whose values are known; undefined where they are unknown, or may not fit. */
export function knownExtents(
  { types: [{ dtype, shape }] }: CallNode,
  { operands: [sizes], into }: Site,
): readonly Value[] | undefined {
  const known = knownElementsOf(into).all(sizes);
  const isPossible = known?.every((size, axis) => {
    const [actual, { min, max }] = [boundsOf(size), boundsOf(shape[axis])];
    return actual.min >= min && actual.max <= max;
  });
  // Impossible sizes are refused at run time.
  if (isPossible !== true) return undefined;
  return into.append(fill.declaration, [], { shape: known, value: 0, dtype });
}

/** True for a call whose data may decide sizes, which are computed separately from its results. */
export function isMeasured(call: CallNode): boolean {
  return declarationOf(call.op).measure !== undefined && !isExtents(call);
}

/**
 * Redirects readers of an array that only stands for its sizes to another array of that shape, so that it
 * needs no memory: it is then only the point where sizes become known.
 */
export function withUnreadExtents(program: Program, region: (region: Program) => Program): Program {
  let read: Set<NodeId> | undefined;
  return transform(
    program,
    ({ node, id, operands, into }) => {
      if (node.kind !== 'call') return undefined;
      read ??= readNodes(program);
      if (!read.has(id)) return undefined;
      into.appendNode(node, operands);
      const { dtype, shape } = node.types[0];
      return into.append(fill.declaration, [], { shape, value: 0, dtype });
    },
    { region, wanted: isExtents },
  );
}

function readNodes(program: Program): Set<NodeId> {
  const read = new Set<NodeId>(program.outputs.map(({ value }) => value.node));
  for (const id of program.graph.nodes())
    for (const { node } of program.operands(id)) read.add(node);
  return read;
}

/**
 * Appends the computation of the sizes that a measured call decides, and names them. After it the call is an
 * ordinary one with known sizes.
 */
export function measureFirst(call: CallNode, operands: readonly Value[], into: Program): void {
  const { op, attributes, decides } = call;
  let measured = 0;
  for (const sizes of declarationOf(op).measure!({ inputs: operands, attributes })) {
    const count = elementCount(sizes.type.shape);
    if (typeof count !== 'number')
      throw new InternalError('the number of measured sizes is not known', { op: op.name });
    const decided = decides.slice(measured, measured + count);
    const shape = decided.map(({ size }) => size);
    const list = sizes.type.shape.length === 1 ? sizes : reshape<Value>(sizes, [count]);
    const most = decided.map(({ size, most }) => most ?? greatest(size));
    const bounds = { most: most.every((bound) => bound === null) ? null : most };
    into.appendTyped(extents.declaration, [list], bounds, [{ dtype: 'bool', shape }], {
      decides: shape.map((size, k) => ({ size, most: most[k] })),
    });
    measured += count;
  }
  if (measured !== decides.length) {
    throw new InternalError('an operator measures other sizes than it decides', {
      op: op.name,
      expected: String(decides.length),
      actual: String(measured),
    });
  }
}

function greatest(dim: Dim): number | null {
  const { max } = boundsOf(dim);
  return max === Infinity ? null : max;
}
