import { addDim, type Dim, isStatic, mulDim } from '../../../base/dim/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { registerLanes } from '../gemm/shape.js';
import { known } from '../../contraction/sizes.js';
import { scalarDTypes } from '../../../ops/elements.js';
import type { BlockLoops } from './direct.js';
import { type OutputBlock, fieldOf } from './field.js';
import { layoutOf, phasesOf } from './layout.js';
import { depthOf, overTaps, productInPlace, roundedUp, tapTable } from './product.js';
import type { Windowed } from './spec.js';
import { sweepAgain, sweepOnce } from './sweep.js';
import { part } from './unit.js';

/*
 * Three taps down a column of the input give four results by six products instead of twelve (Winograd, "Arithmetic
 * complexity of computations", 1980; Lavin and Gray, 2015): both are evaluated as polynomials at the points 0,
 * 1, -1, 1/2, -2 and infinity, multiplied there, and interpolated. Only rows are combined, so that everything
 * runs along the columns in whole vectors, as it lies in memory, and whatever the taps across.
 *
 * These points keep the constants small, and those of inputs and results exact. The sums at the points are a third
 * as long as those of the definition, which makes up for part of what interpolation adds to the error.
 */

/** Results, taps and points of one step down. */
export const tileRows = 4;
const tileTaps = 3;
export const points = 6;

/** Six inputs to the values at the points. */
const ofInputs: readonly (readonly number[])[] = [
  [1, -1.5, -2, 1.5, 1, 0],
  [0, -1, 0.5, 2.5, 1, 0],
  [0, 1, -2.5, 0.5, 1, 0],
  [0, -2, -1, 2, 1, 0],
  [0, 0.5, -1, -0.5, 1, 0],
  [0, 1, -1.5, -2, 1.5, 1],
];

/** Three weights to the values at the points. */
const ofWeights: readonly (readonly number[])[] = [
  [1, 0, 0],
  [1 / 3, 1 / 3, 1 / 3],
  [-1 / 3, 1 / 3, -1 / 3],
  [-16 / 15, -8 / 15, -4 / 15],
  [1 / 15, -2 / 15, 4 / 15],
  [0, 0, 1],
];

/** The values at the points to four results. */
const ofProducts: readonly (readonly number[])[] = [
  [1, 1, 1, 1, 1, 0],
  [0, 1, -1, 0.5, -2, 0],
  [0, 1, 1, 0.25, 4, 0],
  [0, 1, -1, 0.125, -8, 1],
];

/** True when a convolution has this form, in a scalar type with fractions. */
export function hasTiles({ scalar, axes: [, y] }: Windowed): boolean {
  const isFloat = scalar === 'f32' || scalar === 'f64';
  return isFloat && y.taps === tileTaps && y.stride === 1 && y.dilation === 1;
}

/** Blocks of `steps` times four rows of results. */
export function winogradBlocks(windows: Windowed, steps: number, columns: Dim): BlockLoops {
  const { context, scalar, groups, inputs, outputs } = windows;
  const { extent } = context;
  const [z, y, x] = windows.axes;
  const lanes = registerLanes(windows);
  const memory = (name: string, length: Dim) => context.scratch(name, scalarDTypes[scalar], extent(length)); // prettier-ignore
  const field = fieldOf(windows, steps * tileRows, columns);
  const layout = layoutOf({ ...windows, axes: [z, { ...y, taps: 1 }, x] }, steps, columns);
  const taps = [z.taps, 1, x.taps] as const;
  const table = tapTable(windows, layout, taps);
  const depth = depthOf(windows, taps);
  const across = roundedUp(addDim(mulDim(steps - 1, layout.pitch), columns), lanes);
  const planes = mulDim(mulDim(groups, inputs), z.taps * phasesOf(x).count);
  // The last vector of a product extends a little beyond the last plane.
  const inputPoint = addDim(mulDim(planes, layout.plane), lanes);
  const weightPoint = mulDim(mulDim(groups, outputs), depth);
  const productPoint = mulDim(outputs, across);
  const inputAt = memory('inputPoints', mulDim(points, inputPoint));
  const weightAt = memory('weightPoints', mulDim(points, weightPoint));
  const productAt = memory('productPoints', mulDim(points, productPoint));
  const clear = e.forLoop('point', 0, points, (point) => {
    const slack = e.add(e.mul(point, extent(inputPoint)), extent(mulDim(planes, layout.plane)));
    return e.forLoop(
      'slack',
      0,
      lanes,
      (at) => e.store(inputAt, e.add(slack, at), e.constant(scalar, 0)),
      { mode: 'vector' },
    );
  });

  const weigh = e.forLoop('group', 0, groups, (group) =>
    e.forLoop('output', 0, extent(outputs), (output) =>
      e.forLoop('input', 0, extent(inputs), (input) =>
        overTaps([...taps], ([tz, , tx], position) => {
          const row = e.add(e.mul(group, extent(outputs)), output);
          const place = e.add(e.mul(row, extent(depth)), e.add(e.mul(input, z.taps * x.taps), position)); // prettier-ignore
          const values = Array.from({ length: tileTaps }, (_, ty) =>
            windows.weights.at(group, output, input, [tz, e.i32(ty), tx]),
          );
          return combinations(scalar, ofWeights, values, (point, value) =>
            e.store(weightAt, e.add(place, extent(mulDim(point, weightPoint))), value),
          );
        }),
      ),
    ),
  );

  const evaluate = e.forLoop('plane', 0, extent(planes), (plane) =>
    e.forLoop('step', 0, steps, (step) => {
      const from = e.add(
        e.mul(plane, extent(field.plane)),
        e.mul(step, extent(mulDim(tileRows, field.pitch))),
      );
      const to = e.add(e.mul(plane, extent(layout.plane)), e.mul(step, extent(layout.pitch)));
      return sweepAgain(extent(layout.pitch), lanes, (at) => {
        const values = Array.from({ length: points }, (_, row) =>
          e.load(field.buffer, e.add(e.add(from, extent(mulDim(row, field.pitch))), at)),
        );
        return combinations(scalar, ofInputs, values, (point, value) =>
          e.store(inputAt, e.add(e.add(to, extent(mulDim(point, inputPoint))), at), value),
        );
      });
    }),
  );

  const multiply = (group: Expr): Stmt => {
    const rows = e.mul(group, extent(outputs));
    const first = e.mul(group, extent(mulDim(inputs, layout.channel)));
    const product = {
      batch: e.i32(points),
      m: extent(outputs),
      n: extent(across),
      k: extent(depth),
      a: (point: Expr, i: Expr, k: Expr) => {
        const row = e.mul(e.add(rows, i), extent(depth));
        return e.load(weightAt, e.add(e.add(e.mul(point, extent(weightPoint)), row), k));
      },
      b: (point: Expr, k: Expr, j: Expr) => {
        const start = e.add(e.mul(point, extent(inputPoint)), first);
        return e.load(inputAt, e.add(e.add(start, table.at(k)), j));
      },
    };
    return productInPlace(windows, product, (point, i, j) => {
      const row = e.add(e.mul(point, extent(productPoint)), e.mul(i, extent(across)));
      return { buffer: productAt, index: e.add(row, j) };
    });
  };

  const isWhole = isStatic(y.count) && y.count % tileRows === 0;
  const interpolate = ({ image, corner: [planeZ, top, left] }: OutputBlock, group: Expr): Stmt =>
    e.forLoop('output', 0, extent(outputs), (output) =>
      e.forLoop('step', 0, stepsOf(part(windows, 1, top, steps * tileRows)), (step) => {
        const place = e.add(e.mul(output, extent(across)), e.mul(step, extent(layout.pitch)));
        const first = e.add(top, e.mul(step, tileRows));
        return sweepOnce(part(windows, 2, left, columns), lanes, (at) => {
          const values = Array.from({ length: points }, (_, point) =>
            e.load(productAt, e.add(e.add(place, extent(mulDim(point, productPoint))), at)),
          );
          return combinations(scalar, ofProducts, values, (row, value) => {
            const down = e.add(first, row);
            const index = [planeZ, down, e.add(left, at)] as const;
            const store = windows.store(image, group, output, index, value);
            return row === 0 || isWhole ? store : e.ifThen(e.lt(down, extent(y.count)), store);
          });
        });
      }),
    );

  return {
    prepare: e.block(table.prepare, clear, weigh),
    block: (block) =>
      e.block(
        field.fill(block),
        evaluate,
        e.forLoop('group', 0, groups, (group) =>
          e.block(multiply(group), interpolate(block, group)),
        ),
      ),
  };
}

/** Number of steps for so many rows. */
function stepsOf(rows: Expr): Expr {
  const size = known(rows);
  return size === null
    ? e.div(e.add(rows, tileRows - 1), tileRows)
    : e.i32(Math.ceil(size / tileRows));
}

/** Sums of multiples of the values, and their sinks. */
function combinations(
  scalar: Windowed['scalar'],
  factors: readonly (readonly number[])[],
  values: readonly Expr[],
  use: (row: number, value: Expr) => Stmt,
): Stmt {
  const locals = values.map((value, at) => e.variable(`value${at}`, scalar, value.type.lanes));
  return e.block(
    ...values.map((value, at) => e.declare(locals[at], value)),
    ...factors.map((row, at) => use(at, combination(scalar, row, locals))),
  );
}

function combination(
  scalar: Windowed['scalar'],
  factors: readonly number[],
  values: readonly Var[],
): Expr {
  const terms = values.flatMap((value, at) => {
    const factor = factors[at];
    if (factor === 0) return [];
    const isOne = Math.abs(factor) === 1;
    const size = e.constant(scalar, Math.abs(factor));
    return [{ isNegative: factor < 0, term: isOne ? value : e.mul(value, size) }];
  });
  // Begins with a positive term, if there is one.
  const ordered = terms.toSorted((a, b) => Number(a.isNegative) - Number(b.isNegative));
  const [{ isNegative, term: first }, ...rest] = ordered;
  return rest.reduce(
    (sum, { isNegative, term }) => (isNegative ? e.sub(sum, term) : e.add(sum, term)),
    isNegative ? e.neg(first) : first,
  );
}
