import { type Bounds, boundsOf, type Dim, substituteDim } from '../../base/dim/index.js';
import { substituteCall } from '../../ir/bind.js';
import type { CallNode, DecidedSize, Program, Value } from '../../ir/program.js';
import { nameOfSize } from '../../ir/size-sources.js';
import type { TensorType } from '../../ir/types.js';

/*
 * Sizes that calls decide, where a program is rebuilt and more is known of its operands.
 */

/**
 * A call with the types that its operator infers, for programs that have its checks. A size that it decides keeps its
 * symbol if that has the bounds that inference states and nothing else decides it. One that `into` knows otherwise, as
 * when the same is computed twice, keeps its symbol where a type of `told` has it: types that are known of results, or
 * null.
 */
export function withInferredTypes(
  node: CallNode,
  operands: readonly Value[],
  into: Program,
  told: readonly (TensorType | null)[],
): CallNode {
  const decides: DecidedSize[] = [];
  const made = new Set<string>();
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
      if (!isKept) made.add(String(size));
      decides.push({ size, most });
      return size;
    },
    require: () => {},
  });
  const found = new Map<string, Dim>();
  types.forEach(({ shape }, i) => {
    told[i]?.shape.forEach((size, axis) => {
      const name = nameOfSize(shape[axis]);
      if (name !== null && made.has(name) && isKnown(size, boundsOf(shape[axis]), into))
        found.set(name, size);
    });
  });
  return substituteCall({ ...node, types, decides }, found);
}

/** True for a number within bounds, and for a symbol with these bounds that a program knows. */
function isKnown(size: Dim, bounds: Bounds, into: Program): boolean {
  if (typeof size === 'number') return bounds.min <= size && size <= bounds.max;
  const name = nameOfSize(size);
  return name !== null && into.knowsSize(name) && haveSameBounds(boundsOf(size), bounds);
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
