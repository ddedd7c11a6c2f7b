import { type Dim, isStatic, mulDim, sameDim, elementCount } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { staysInRow } from '../../../ops/contraction/unravel.js';

/** One axis of an index space, and the memory stride along it. */
export interface Stride {
  readonly extent: Dim;
  readonly weight: Dim;
}

/** Statements to run before, and then a cheap expression. */
export interface Prepared {
  readonly prepare: readonly Stmt[];
  at(index: Expr): Expr;
}

/**
 * The memory offset of the element at each row-major position of a space. Axes that form one run in memory
 * are merged; where one axis remains the offset is a product, otherwise a table computed once: a lookup is
 * far cheaper than the divisions that decompose the position.
 */
export function offsets(
  context: Pick<KernelContext<unknown>, 'scratch' | 'extent'>,
  name: string,
  space: readonly Stride[],
): Prepared {
  const axes = merged(space);
  if (axes.length === 0) return { prepare: [], at: () => e.i32(0) };
  if (axes.length === 1) {
    const [{ weight }] = axes;
    return {
      prepare: [],
      at: (index) => (weight === 1 ? index : e.mul(index, context.extent(weight))),
    };
  }
  const length = context.extent(elementCount(axes.map(({ extent }) => extent)));
  const table = context.scratch(name, 'int32', length);
  const fill = (axis: number, position: Expr, offset: Expr): Stmt => {
    if (axis === axes.length) return e.store(table, position, offset);
    const { extent, weight } = axes[axis];
    const size = context.extent(extent);
    return e.forLoop(`${name}${axis}`, 0, size, (index) =>
      fill(
        axis + 1,
        e.add(e.mul(position, size), index),
        e.add(offset, e.mul(index, context.extent(weight))),
      ),
    );
  };
  const row = axes[axes.length - 1];
  return {
    prepare: [fill(0, e.i32(0), e.i32(0))],
    at: (index) =>
      isStatic(row.extent) && staysInRow(index, row.extent)
        ? e.ramp(e.load(table, index.base), context.extent(row.weight), index.type.lanes)
        : e.load(table, index),
  };
}

/** The same offsets with fewer axes: without extents of 1, neighbors merged where strides agree. */
function merged(space: readonly Stride[]): Stride[] {
  const axes: Stride[] = [];
  for (const axis of space) {
    if (axis.extent === 1) continue;
    const outer = axes.at(-1);
    if (outer !== undefined && sameDim(outer.weight, mulDim(axis.extent, axis.weight))) {
      axes[axes.length - 1] = { extent: mulDim(outer.extent, axis.extent), weight: axis.weight };
    } else axes.push(axis);
  }
  return axes;
}

/** Row-major strides. */
export function rowMajor(shape: readonly Dim[]): Dim[] {
  return shape.map((_, axis) => elementCount(shape.slice(axis + 1)));
}
