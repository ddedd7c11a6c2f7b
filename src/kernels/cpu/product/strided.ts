import { type Dim, elementCount } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Scalar, Stmt } from '../../../loop/language/nodes.js';
import { ravel } from '../../../ops/loops.js';
import { computeScalar, type KernelContext, type Sink } from '../../../ops/declare/lowering.js';
import { isDirect } from './contents.js';
import { contract } from './contract.js';
import { offsets, type Prepared, type Stride } from './offsets.js';
import { unravel } from '../../../ops/contraction/unravel.js';

/** One operand of a contraction: flat contents, and the strides of each index space. */
export interface StridedOperand {
  readonly contents: Prepared;
  /** The constant part of the offset. */
  readonly base?: Dim;
  readonly batch: readonly Stride[];
  /** The rows of `a`, the columns of `b`. */
  readonly outer: readonly Stride[];
  readonly inner: readonly Stride[];
}

export interface StridedContraction {
  readonly context: KernelContext<unknown>;
  readonly scalar: Exclude<Scalar, 'bool'>;
  readonly a: StridedOperand;
  readonly b: StridedOperand;
  /** The index of a result along the axes before `columns`. */
  lead(batch: Expr, row: Expr): readonly Expr[];
  /** The axes of the result that the columns run over, in order; its last ones. */
  readonly columns: readonly Dim[];
  /** Mapping of a column's index to its axis; by default the identity. */
  readonly spread?: readonly SpacedAxis[];
}

/** Every `step`-th index of an axis, from `start` on. */
export interface SpacedAxis {
  readonly start: number;
  readonly step: number;
}

/**
 * A contraction whose operands lie in flat memory, every index space with several axes of its own:
 * an element's offset is a sum of one offset for the batch, the outer and the inner index.
 */
export function contractStrided(spec: StridedContraction): Stmt {
  const { context, scalar, a, b } = spec;
  const [sink] = context.outputs;
  const left = side(context, 'a', a);
  const right = side(context, 'b', b);
  return e.block(
    ...left.prepare,
    ...right.prepare,
    contract({
      context,
      scalar,
      batch: extentOf(context, a.batch),
      m: extentOf(context, a.outer),
      n: extentOf(context, b.outer),
      k: extentOf(context, a.inner),
      a: (batch, i, k) => left.at(batch, i, k),
      b: (batch, k, j) => right.at(batch, j, k),
      store: (batch, i, j, value) => write(sink, spec, spec.lead(batch, i), j, value),
    }),
  );
}

function side(
  context: KernelContext<unknown>,
  name: string,
  { contents, base = 0, batch, outer, inner }: StridedOperand,
): {
  readonly prepare: readonly Stmt[];
  at(batch: Expr, outer: Expr, inner: Expr): Expr;
} {
  const maps = [
    offsets(context, `${name}Batch`, batch),
    offsets(context, `${name}Outer`, outer),
    offsets(context, `${name}Inner`, inner),
  ];
  return {
    prepare: [...contents.prepare, ...maps.flatMap(({ prepare }) => prepare)],
    at: (...index) => {
      const start = base === 0 ? [] : [context.extent(base)];
      return contents.at(
        [...start, ...maps.map((map, space) => map.at(index[space]))].reduce((sum, part) =>
          e.add(sum, part),
        ),
      );
    },
  };
}

function extentOf(context: KernelContext<unknown>, space: readonly Stride[]): Expr {
  return context.extent(elementCount(space.map(({ extent }) => extent)));
}

/** The image and the channel of a row, where the batch runs over images and groups. */
export function grouped(
  context: KernelContext<unknown>,
  batch: Expr,
  row: Expr,
  images: Dim,
  groups: number,
  perGroup: Dim,
): readonly Expr[] {
  const [image, group] = unravel(batch, [context.extent(images), e.i32(groups)]);
  return [image, groupedRow(context, group, row, groups, perGroup)];
}

/** The channel of a row of one group. */
export function groupedRow(
  context: KernelContext<unknown>,
  group: Expr,
  row: Expr,
  groups: number,
  perGroup: Dim,
): Expr {
  return groups === 1 ? row : e.add(e.mul(group, context.extent(perGroup)), row);
}

/** Stores at flat positions where that writes memory directly, so that lanes stay contiguous. */
function write(
  sink: Sink,
  { context, columns, scalar, spread }: StridedContraction,
  lead: readonly Expr[],
  j: Expr,
  value: Expr,
): Stmt {
  if (spread === undefined && sink.buffer !== null && isDirect(sink.buffer.storage, scalar)) {
    const row = ravel(lead, sink.shape);
    return e.store(sink.buffer, e.add(e.mul(row, context.extent(elementCount(columns))), j), value);
  }
  const index = unravel(
    j,
    columns.map((dim) => context.extent(dim)),
  );
  const places =
    spread === undefined
      ? index
      : index.map((at, axis) => e.add(e.mul(at, spread[axis].step), spread[axis].start));
  return sink.store([...lead, ...places], e.cast(computeScalar(sink.dtype), value));
}
