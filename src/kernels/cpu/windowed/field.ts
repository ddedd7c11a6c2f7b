import {
  addDim, ceilDivDim, type Dim, maxDim, minDim, mulDim, sameDim, subDim,
} from '../../../base/dim/index.js'; // prettier-ignore
import * as e from '../../../loop/language/build.js';
import type { Buffer, Expr, Stmt } from '../../../loop/language/nodes.js';
import { registerLanes } from '../gemm/shape.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { type Layout, layoutOf, phasesOf } from './layout.js';
import { type Axis, isPlainProduct, type SpatialIndex, type Windowed } from './spec.js';
import { sweepAgain } from './sweep.js';

/** Number of phases of a row that are unrolled, with static bounds; more are a loop. */
const mostWritten = 8;

/** Some rows of results of one plane of one image, or a part of one row. */
export interface OutputBlock {
  readonly image: Expr;
  /** The first result. */
  readonly corner: SpatialIndex;
}

export interface Field extends Layout {
  readonly buffer: Buffer;
  /** Of a plane. */
  readonly rows: number;
  /** Reads the input of a block, with zeros around it. */
  fill(block: OutputBlock): Stmt;
}

/**
 * The padded input of blocks of so many rows and columns of results. Bounds are checked here, row by row, so
 * that products over windows need neither checks nor selects.
 */
export function fieldOf(windows: Windowed, rows: number, columns: Dim): Field {
  const { context, scalar } = windows;
  const { extent } = context;
  const [z, y, x] = windows.axes;
  const [down, across] = [phasesOf(y), phasesOf(x)];
  const height = rows + down.overhang;
  const layout = layoutOf(windows, height, columns);
  const channels = mulDim(windows.groups, windows.inputs);
  // Vectors extend beyond the last result; they must read finite numbers there, which are cheap to compute
  // with.
  const length = extent(addDim(mulDim(channels, layout.channel), registerLanes(windows)));
  const buffer = context.scratch('field', scalarDTypes[scalar], length);
  const isCut = !sameDim(columns, x.count);

  const fillRow = (
    { image, corner }: OutputBlock,
    [channel, tz, phaseDown, row]: readonly Expr[],
    phaseAcross: Expr | number,
  ): Stmt => {
    const plane = e.add(e.mul(e.add(e.mul(tz, down.count), phaseDown), across.count), phaseAcross);
    const start = [
      e.mul(channel, extent(layout.channel)),
      e.mul(plane, extent(layout.plane)),
      e.mul(row, extent(layout.pitch)),
    ].reduce(e.add);
    const atZ = source(z, corner[0], e.mul(tz, z.dilation));
    const atY = source(y, e.add(corner[1], row), e.mul(phaseDown, down.step));
    const phase =
      typeof phaseAcross === 'number' ? phaseAcross * across.step : e.mul(phaseAcross, across.step);
    const [begin, end] = columnsInside(x, phase, layout.pitch, isCut ? corner[2] : null);
    const copy = sweepAgain(difference(end, begin), registerLanes(windows), (at) => {
      const column = e.add(begin, at);
      const atX = source(x, isCut ? e.add(corner[2], column) : column, indexOf(phase));
      const value = windows.input.at(image, channel, [atZ, atY, atX]);
      return e.store(buffer, e.add(start, column), value);
    });
    const checks = [...checksOf(z, atZ, true), ...checksOf(y, atY, rows === 1)];
    return checks.length === 0 ? copy : e.ifThen(checks.reduce(e.and), copy);
  };

  const source = ({ stride, before }: Axis, result: Expr, distance: Expr): Expr =>
    e.sub(e.add(e.mul(result, stride), distance), extent(before));

  /** An index that is always inside needs no check. */
  const checksOf = (axis: Axis, at: Expr, isExact: boolean): readonly Expr[] =>
    isExact && isPlainProduct([axis]) ? [] : [e.ge(at, 0), e.lt(at, extent(axis.size))];

  /** The columns that are inside, in a part of the row or in all of it: both bounds round up. */
  const columnsInside = (
    { size, stride, before }: Axis,
    phase: Expr | number,
    pitch: Dim,
    from: Expr | null,
  ): readonly [Expr, Expr] => {
    if (typeof phase === 'number' && from === null) {
      const begin = minDim(maxDim(ceilDivDim(subDim(before, phase), stride), 0), pitch);
      const end = minDim(ceilDivDim(subDim(addDim(size, before), phase), stride), pitch);
      return [extent(begin), extent(maxDim(end, begin))];
    }
    // Division truncates, so a negative dividend gives at most 0.
    const firstBehind = (end: Dim): Expr =>
      typeof phase === 'number'
        ? extent(ceilDivDim(subDim(end, phase), stride))
        : e.div(e.sub(extent(addDim(end, stride - 1)), phase), stride);
    const inPart = (end: Dim): Expr => {
      const bound = firstBehind(end);
      return e.max(e.min(from === null ? bound : e.sub(bound, from), extent(pitch)), 0);
    };
    return [inPart(before), inPart(addDim(size, before))];
  };

  const clear = e.forLoop('clear', 0, length, (at) => e.store(buffer, at, e.constant(scalar, 0)), {
    mode: 'vector',
  });
  const nest = (
    extents: readonly (readonly [string, Expr])[],
    body: (index: readonly Expr[]) => Stmt,
    index: readonly Expr[] = [],
  ): Stmt => {
    if (index.length === extents.length) return body(index);
    const [name, end] = extents[index.length];
    return e.forLoop(name, 0, end, (at) => nest(extents, body, [...index, at]));
  };
  const fill = (block: OutputBlock): Stmt =>
    nest(
      [
        ['channel', extent(channels)],
        ['tap', e.i32(z.taps)],
        ['phase', e.i32(down.count)],
        ['row', e.i32(height)],
      ],
      (index) =>
        across.count > mostWritten
          ? e.forLoop('remainder', 0, across.count, (phase) => fillRow(block, index, phase))
          : e.block(
              ...Array.from({ length: across.count }, (_, phase) => fillRow(block, index, phase)),
            ),
    );
  return { ...layout, buffer, rows: height, fill: (block) => e.block(clear, fill(block)) };
}

function indexOf(value: Expr | number): Expr {
  return typeof value === 'number' ? e.i32(value) : value;
}

function difference(end: Expr, begin: Expr): Expr {
  return end.kind === 'const' && begin.kind === 'const'
    ? e.i32(Number(end.value) - Number(begin.value))
    : e.sub(end, begin);
}
