import { addDim, type Dim, mulDim } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { registerLanes } from '../gemm/shape.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { type OutputBlock, fieldOf } from './field.js';
import { depthOf, overTaps, productInPlace, roundedUp, tapTable } from './product.js';
import type { Windowed } from './spec.js';
import { sweepOnce } from './sweep.js';
import { part } from './unit.js';

/** Preparation, and the loops of each block. */
export interface BlockLoops {
  readonly prepare: Stmt;
  block(block: OutputBlock): Stmt;
}

/**
 * The reference form: per group, weights `[outputs, inputs * taps]` by windows, whose columns are contiguous
 * results and are read in place in the field.
 */
export function directBlocks(windows: Windowed, rows: number, columns: Dim): BlockLoops {
  const { context, scalar, groups, inputs, outputs } = windows;
  const { extent } = context;
  const taps = windows.axes.map((axis) => axis.taps) as [number, number, number];
  const lanes = registerLanes(windows);
  const field = fieldOf(windows, rows, columns);
  const table = tapTable(windows, field, taps);
  const weights = flatWeights(windows, taps);
  const depth = extent(depthOf(windows, taps));
  const across = roundedUp(addDim(mulDim(rows - 1, field.pitch), columns), lanes);
  const results = context.scratch('results', scalarDTypes[scalar], extent(mulDim(outputs, across)));
  const product = (group: Expr): Stmt => {
    const first = e.mul(group, extent(mulDim(inputs, field.channel)));
    const product = {
      batch: e.i32(1),
      m: extent(outputs),
      n: extent(across),
      k: depth,
      a: (_: Expr, i: Expr, k: Expr) =>
        weights.at(e.add(e.mul(e.add(e.mul(group, extent(outputs)), i), depth), k)),
      b: (_: Expr, k: Expr, j: Expr) => e.load(field.buffer, e.add(e.add(first, table.at(k)), j)),
    };
    return productInPlace(windows, product, (_, i, j) => ({
      buffer: results,
      index: e.add(e.mul(i, extent(across)), j),
    }));
  };
  const write = ({ image, corner: [z, y, x] }: OutputBlock, group: Expr): Stmt =>
    e.forLoop('output', 0, extent(outputs), (output) =>
      e.forLoop('row', 0, part(windows, 1, y, rows), (row) =>
        sweepOnce(part(windows, 2, x, columns), lanes, (at) => {
          const place = e.add(e.mul(output, extent(across)), e.mul(row, extent(field.pitch)));
          const sum = e.load(results, e.add(place, at));
          return windows.store(image, group, output, [z, e.add(y, row), e.add(x, at)], sum);
        }),
      ),
    );
  return {
    prepare: e.block(table.prepare, weights.prepare),
    block: (block) =>
      e.block(
        field.fill(block),
        e.forLoop('group', 0, groups, (group) => e.block(product(group), write(block, group))),
      ),
  };
}

/** Weights in the order of the inner index, copied only where they have another. */
function flatWeights(
  { context, scalar, groups, inputs, outputs, weights }: Windowed,
  taps: readonly [number, number, number],
): { readonly prepare: Stmt; at(position: Expr): Expr } {
  if (weights.flat !== null) return { prepare: e.block(), at: weights.flat };
  const { extent } = context;
  const count = taps[0] * taps[1] * taps[2];
  const length = mulDim(mulDim(groups, outputs), mulDim(inputs, count));
  const copy = context.scratch('weights', scalarDTypes[scalar], extent(length));
  const prepare = e.forLoop('group', 0, groups, (group) =>
    e.forLoop('output', 0, extent(outputs), (output) =>
      e.forLoop('input', 0, extent(inputs), (input) =>
        overTaps(taps, (tap, position) => {
          const row = e.add(e.mul(group, extent(outputs)), output);
          const start = e.mul(e.add(e.mul(row, extent(inputs)), input), count);
          return e.store(copy, e.add(start, position), weights.at(group, output, input, tap));
        }),
      ),
    ),
  );
  return { prepare, at: (position) => e.load(copy, position) };
}
