import { type Dim, sameShape, elementCount } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Scalar, Stmt, ElementKind } from '../../../loop/language/nodes.js';
import { wideDType } from '../../../ops/loops.js';
import type { Access, KernelContext } from '../../../ops/declare/lowering.js';
import { type Prepared, rowMajor } from './offsets.js';

/** Target indices of an array's elements in a larger (or cropped) space: `position = index * step + shift`. */
export interface AxisMapping {
  readonly extents: readonly Dim[];
  readonly steps: readonly number[];
  readonly shifts: readonly Dim[];
}

type Context = Pick<KernelContext<unknown>, 'scratch' | 'extent'>;

/** True when elements are read from and written to memory without a conversion. */
export function isDirect(storage: ElementKind | undefined, scalar: Scalar): boolean {
  return storage === scalar;
}

/**
 * The elements of an array by flat row-major position, in the compute type `scalar`. Read in place where
 * memory holds them in that type, otherwise computed once into scratch memory.
 */
export function contents(
  context: Context,
  name: string,
  from: Access,
  shape: readonly Dim[],
  scalar: Exclude<Scalar, 'bool'>,
): Prepared {
  const { buffer } = from;
  if (buffer !== null && isDirect(buffer.storage, scalar))
    return { prepare: [], at: (index) => e.load(buffer, index) };
  const copy = context.scratch(name, wideDType(from.dtype), context.extent(elementCount(shape)));
  const ranges = shape.map((extent) => ({ begin: e.i32(0), end: context.extent(extent) }));
  const strides = rowMajor(shape).map((stride) => context.extent(stride));
  const fill = nest(name, ranges, (index) =>
    e.store(copy, dot(index, strides), e.cast(scalar, from.at(index))),
  );
  return { prepare: [fill], at: (index) => e.load(copy, index) };
}

/**
 * The elements of `[N, C, ...spatial]` placed in larger spatial extents, with zeros between and around, by
 * flat position. All window arithmetic is done here, once for each element, so that a contraction over
 * windows needs neither bounds checks nor selects.
 */
export function placed(
  context: Context,
  name: string,
  from: Access,
  shape: readonly Dim[],
  scalar: Exclude<Scalar, 'bool'>,
  { extents, steps, shifts }: AxisMapping,
): Prepared {
  const lead = shape.slice(0, 2);
  const spatial = shape.slice(2);
  if (
    sameShape(extents, spatial) &&
    steps.every((step) => step === 1) &&
    shifts.every((shift) => shift === 0)
  )
    return contents(context, name, from, shape, scalar);
  const target = [...lead, ...extents];
  const size = e.max(context.extent(elementCount(target)), 0);
  const field = context.scratch(name, wideDType(from.dtype), size);
  const clear = e.forLoop(
    `${name}Clear`,
    0,
    size,
    (at) => e.store(field, at, e.constant(scalar, 0)),
    { mode: 'vector' },
  );
  const strides = rowMajor(target).map((stride) => context.extent(stride));
  const ranges = shape.map((extent, axis) => {
    const end = context.extent(extent);
    return axis < 2
      ? { begin: e.i32(0), end }
      : inside(
          end,
          context.extent(extents[axis - 2]),
          steps[axis - 2],
          context.extent(shifts[axis - 2]),
        );
  });
  const copy = nest(name, ranges, (index) => {
    const position = index.map((at, axis) =>
      axis < 2 ? at : e.add(e.mul(at, steps[axis - 2]), context.extent(shifts[axis - 2])),
    );
    return e.store(field, dot(position, strides), e.cast(scalar, from.at(index)));
  });
  return { prepare: [clear, copy], at: (index) => e.load(field, index) };
}

interface LoopRange {
  readonly begin: Expr;
  readonly end: Expr;
}

/**
 * The indices with `0 <= index * step + shift < target`. Both bounds round up; where a numerator is negative,
 * truncation gives at most 0, which is the right bound then.
 */
function inside(source: Expr, target: Expr, step: number, shift: Expr): LoopRange {
  const up = (x: Expr): Expr => (step === 1 ? x : e.div(e.add(x, step - 1), step));
  return {
    begin: e.max(up(e.sub(e.i32(0), shift)), 0),
    end: e.min(up(e.sub(target, shift)), source),
  };
}

function nest(
  name: string,
  ranges: readonly LoopRange[],
  body: (index: readonly Expr[]) => Stmt,
): Stmt {
  const level = (axis: number, index: readonly Expr[]): Stmt =>
    axis === ranges.length
      ? body(index)
      : e.forLoop(
          `${name}${axis}`,
          ranges[axis].begin,
          ranges[axis].end,
          (at) => level(axis + 1, [...index, at]),
          { mode: axis === ranges.length - 1 ? 'vector' : 'serial' },
        );
  return level(0, []);
}

function dot(index: readonly Expr[], weights: readonly Expr[]): Expr {
  return index
    .map((at, axis) => e.mul(at, weights[axis]))
    .reduce<Expr>((sum, term) => e.add(sum, term), e.i32(0));
}
