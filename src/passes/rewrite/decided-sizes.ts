import { type Bounds, boundsOf, type Dim, substituteDim } from '../../base/dim/index.js';
import type { CallNode, DecidedSize, Program, Value } from '../../ir/program.js';
import { nameOfSize } from '../../ir/size-sources.js';

/*
 * Sizes that calls decide, where a program is rebuilt and more is known of its operands.
 */

/**
 * A call with the types that its operator infers, for programs that have its checks. A size that it decides keeps its
 * symbol if that has the bounds that inference states and nothing else decides it.
 */
export function withInferredTypes(
  node: CallNode,
  operands: readonly Value[],
  into: Program,
): CallNode {
  const decides: DecidedSize[] = [];
  const types = node.op.infer({
    inputs: operands.map(({ type }) => type),
    attributes: node.attributes,
    regions: node.regions,
    fresh: (hint, { most = null, ...bounds } = {}) => {
      const known = node.decides[decides.length]?.size ?? 0;
      const name = nameOfSize(known);
      const { min = 0, max = Infinity } = bounds;
      const isKept = name !== null && !into.knowsSize(name) && haveSameBounds(boundsOf(known), { min, max }); // prettier-ignore
      const size = isKept ? known : into.freshDim(hint, bounds);
      decides.push({ size, most });
      return size;
    },
    require: () => {},
  });
  return { ...node, types, decides };
}

/** Bounds of a symbol of a decided size in other dimensions, of which its upper bound may be one. */
export function boundsIn(
  dims: ReadonlyMap<string, Dim>,
  { size, most }: DecidedSize,
  bounds: Bounds,
): Bounds {
  if (most === null || nameOfSize(size) === null) return bounds;
  const { max } = boundsOf(substituteDim(most, dims));
  return max < bounds.max ? { min: Math.min(bounds.min, max), max } : bounds;
}

export function haveSameBounds(a: Bounds, b: Bounds): boolean {
  return a.min === b.min && a.max === b.max;
}
