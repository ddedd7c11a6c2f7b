import { type Dim, isStatic } from '../../../base/dim/index.js';
import { scalarBytes } from '../../../loop/language/build.js';
import { registerLanes } from '../gemm/shape.js';
import { phasesOf } from './layout.js';
import type { Axis, Windowed } from './spec.js';
import { hasTiles, points, tileRows } from './winograd.js';

/** Block sizes of a convolution: so many rows (or steps of four) and columns. */
export interface Plan {
  readonly form: 'direct' | 'winograd';
  readonly rows: number;
  readonly columns: Dim;
}

/**
 * The form and block sizes with the fewest instructions, of those whose memory stays in the second-level
 * cache. The form, and with it every result, does not depend on the number of threads; the blocks may.
 */
export function planOf(windows: Windowed): Plan {
  const sizes = sizesOf(windows);
  const direct = best(sizes, 'direct', 1);
  const winograd = hasTiles(windows) ? best(sizes, 'winograd', 1) : null;
  const chosen = winograd !== null && winograd.cost < direct.cost ? winograd : direct;
  const { form, rows } = windows.context.isDivided
    ? best(sizes, chosen.form, manyBlocks / sizes.images)
    : chosen;
  return { form, rows, columns: sizes.isCut ? sizes.columns : windows.axes[2].count };
}

/** Blocks per thread, several for load balance. */
const manyBlocks = 8;

/** Known sizes, and likely ones for the unknown. */
interface Sizes {
  readonly lanes: number;
  /** Bytes of an element, and byte limit of a block. */
  readonly bytes: number;
  readonly cache: number;
  /** Cost of a multiply-add. */
  readonly multiplyAdd: number;
  readonly images: number;
  readonly groups: number;
  readonly inputs: number;
  readonly outputs: number;
  readonly down: number;
  /** Columns of a block, and blocks of a row. */
  readonly columns: number;
  readonly isCut: boolean;
  /** True when rows may share a block: not if their length is unknown. */
  readonly joinsRows: boolean;
  readonly axes: readonly [Axis, Axis, Axis];
}

/** Assumed size of unknown extents. */
const likely = 32;

function sizesOf(windows: Windowed): Sizes {
  const { context, scalar, axes } = windows;
  const { target } = context;
  const size = (dim: Dim): number => (isStatic(dim) ? dim : likely);
  const lanes = registerLanes(windows);
  const wide = axes[2].count;
  const isCut = isStatic(wide) && wide > mostColumns;
  const parts = Math.ceil(size(wide) / mostColumns);
  const columns = isCut ? Math.ceil(wide / parts / lanes) * lanes : size(wide);
  return {
    lanes,
    bytes: scalarBytes(scalar),
    cache: target.secondCache / 2,
    multiplyAdd: target.fusesMultiplyAdd ? 1 : 2,
    images: (isStatic(windows.images) ? Math.max(1, windows.images) : 1) * size(axes[0].count) * (isCut ? parts : 1), // prettier-ignore
    groups: windows.groups,
    inputs: size(windows.inputs),
    outputs: size(windows.outputs),
    down: size(axes[1].count),
    columns,
    isCut,
    joinsRows: isStatic(wide) && !isCut,
    axes,
  };
}

/** Longest row that is not cut. */
const mostColumns = 512;

/** Row limit of a block: more save nothing more. */
const mostRows = 64;

interface Costed {
  readonly form: Plan['form'];
  readonly rows: number;
  readonly cost: number;
}

/** The best number of rows of a form that makes at least so many blocks of an image, if any does. */
function best(sizes: Sizes, form: Plan['form'], leastBlocks: number): Costed {
  const height = form === 'direct' ? 1 : tileRows;
  const most = sizes.joinsRows ? Math.min(mostRows, Math.ceil(sizes.down / height)) : 1;
  let found = costed(sizes, form, 1, height);
  for (let rows = 2; rows <= most; rows++) {
    if (Math.ceil(sizes.down / (rows * height)) < leastBlocks) break;
    const next = costed(sizes, form, rows, height);
    if (next.cost < found.cost) found = next;
  }
  return found;
}

/** Cost in vector instructions of loading, combining and storing at six points, and of copying a row. */
const evaluating = 45;
const copying = 4;

/** Cost in scalar instructions of one column of three weights; from memory, where they fit no cache. */
const weighing = 40;
const weighingFar = 120;

function costed(sizes: Sizes, form: Plan['form'], rows: number, height: number): Costed {
  const { lanes, groups, inputs, outputs, columns, multiplyAdd, images, axes } = sizes;
  const [z, y, x] = axes;
  const [down, across] = [phasesOf(y), phasesOf(x)];
  const blocks = images * Math.ceil(sizes.down / (rows * height));
  const pitch = columns + across.overhang;
  const vectors = Math.ceil(((rows - 1) * pitch + columns) / lanes);
  const rowVectors = Math.ceil(pitch / lanes) + 1;
  const channels = groups * inputs;
  const planes = channels * z.taps * across.count;
  const planeRows = rows * height + down.overhang;
  const fieldRows = planes * down.count * planeRows;
  const fill = fieldRows * rowVectors * copying * (x.stride === 1 ? 1 : lanes);
  const depth = inputs * z.taps * x.taps * (form === 'direct' ? y.taps : 1);
  const products = groups * outputs * vectors * (depth * multiplyAdd + aroundSum);
  if (form === 'direct') {
    const write = groups * outputs * rows * rowVectors * copying;
    const memory = (fieldRows * pitch + outputs * vectors * lanes) * sizes.bytes;
    const cost = blocks * (fill + products + write);
    return { form, rows, cost: rows > 1 && memory > sizes.cache ? Infinity : cost };
  }
  const combine = (planes + groups * outputs) * rows * rowVectors * evaluating;
  const memory =
    (fieldRows * pitch + points * (planes * rows * pitch + outputs * vectors * lanes)) *
    sizes.bytes;
  const weights = groups * outputs * depth;
  const isFar = points * weights * sizes.bytes > sizes.cache * 2;
  const weigh = weights * (isFar ? weighingFar : weighing);
  const cost = blocks * (fill + points * products + combine) + weigh;
  return { form, rows, cost: rows > 1 && memory > sizes.cache ? Infinity : cost };
}

/** Cost of initializing and storing a sum. */
const aroundSum = 4;
