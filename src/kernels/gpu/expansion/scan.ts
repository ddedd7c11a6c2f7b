import { elementCount, isStatic } from '../../../base/dim/index.js';
import type { Operator } from '../../../ir/operator.js';
import type { Value } from '../../../ir/program.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import {
  add,
  cummax,
  cummin,
  cumsum,
  flatten,
  max,
  maximum,
  min,
  minimum,
  pad,
  reshape,
  slice,
  sum,
} from '../../../ops/index.js';

/*
 * Scans of few long rows by blocks: a scan of each block, a scan of the totals of blocks, which is divided in turn where
 * it is long, and the totals of all blocks before added to each element. What is added to what follows from the length
 * alone. Rows whose length is not known stay as they are, as do many rows, which are an invocation each. So do running
 * products: those of a block may leave the range of floats where those of the row do not.
 */

/** Elements of a block, each of which an invocation scans. */
const blockLength = 64;

/** Length of a row from which on it is divided, and rows up to which. */
const longRow = 512;
const fewRows = 1024;

interface Direction {
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

/** An operator that scans, and what belongs to it. */
interface Scanned {
  readonly operator: { readonly declaration: Operator };
  /** Scans an array along an axis. */
  scan(x: Value, axis: number, direction: Direction): Value;
  /** Folds an array along an axis. */
  fold(x: Value, axis: number): Value;
  combine(a: Value, b: Value): Value;
  readonly neutral: number;
  /** False where a scan has no exclusive form. */
  readonly hasExclusive: boolean;
}

const scans: readonly Scanned[] = [
  {
    operator: cumsum,
    scan: cumsum,
    fold: (x, axis) => sum(x, axis),
    combine: add,
    neutral: 0,
    hasExclusive: true,
  },
  ...(
    [
      [cummax, max, maximum, -Infinity],
      [cummin, min, minimum, Infinity],
    ] as const
  ).map(([operator, fold, combine, neutral]): Scanned => ({
    operator,
    scan: (x, axis, { reverse }) => operator(x, axis, { reverse }),
    fold: (x, axis) => fold(x, axis),
    combine,
    neutral,
    hasExclusive: false,
  })),
];

/** The scan of an array `[before, length, behind]` along its middle axis. */
function blockwise(kind: Scanned, x: Value, direction: Direction): Value {
  const [before, length, behind] = x.type.shape as readonly [number, number, number];
  if (length < longRow) return kind.scan(x, 1, direction);
  const blocks = Math.ceil(length / blockLength);
  const missing = blocks * blockLength - length;
  const whole = missing === 0 ? x : pad(x, [[0, 0], [0, missing], [0, 0]], { value: kind.neutral }); // prettier-ignore
  const parts = reshape(whole, [before, blocks, blockLength, behind]);
  const inside = kind.scan(parts, 2, direction);
  const { reverse } = direction;
  const last = reverse ? 0 : blockLength - 1;
  const totals = direction.exclusive ? kind.fold(parts, 2) : slice(inside, ':', ':', last);
  const ahead = kind.hasExclusive
    ? blockwise(kind, totals, { exclusive: true, reverse })
    : shifted(blockwise(kind, totals, direction), reverse, kind.neutral);
  const all = kind.combine(reshape(ahead, [before, blocks, 1, behind]), inside);
  const joined = reshape(all, [before, blocks * blockLength, behind]);
  return missing === 0 ? joined : slice(joined, ':', [0, length]);
}

/** An array `[before, length, behind]` with each element where the next one was in a direction. */
function shifted(x: Value, reverse: boolean, first: number): Value {
  const length = x.type.shape[1] as number;
  const [rest, widths] = reverse
    ? [slice(x, ':', [1, length]), [0, 1] as const]
    : [slice(x, ':', [0, length - 1]), [1, 0] as const];
  return pad(rest, [[0, 0], widths, [0, 0]], { value: first });
}

interface ScanAttributes {
  readonly axis: number | null;
  readonly exclusive?: boolean;
  readonly reverse: boolean;
}

function scanExpansion(kind: Scanned): readonly [Operator, DeviceExpansion] {
  const expansion: DeviceExpansion<ScanAttributes> = ({
    attributes: { axis, exclusive = false, reverse },
    inputs: [given],
    outputTypes: [{ dtype, shape }],
  }) => {
    if (dtype !== 'float32' || given.type.dtype !== dtype || !shape.every(isStatic)) return null;
    const x = axis === null ? flatten(given) : given;
    const along = axis === null ? 0 : axis < 0 ? axis + shape.length : axis;
    const length = shape[along];
    const [before, behind] = [shape.slice(0, along), shape.slice(along + 1)].map((axes) => Number(elementCount(axes))); // prettier-ignore
    if (length < longRow || before * behind > fewRows || before * behind === 0) return null;
    const rows = reshape(x, [before, length, behind]);
    return [reshape(blockwise(kind, rows, { exclusive, reverse }), shape)];
  };
  // An expansion is given the attributes of calls of its operator only.
  return [kind.operator.declaration, expansion as DeviceExpansion<never> as DeviceExpansion];
}

/** The expansions of scans. */
export const scanExpansions: readonly (readonly [Operator, DeviceExpansion])[] =
  scans.map(scanExpansion);
