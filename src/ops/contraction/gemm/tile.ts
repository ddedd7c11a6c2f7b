import * as e from '../../../loop/build.js';
import type { Expr, Stmt, Var } from '../../../loop/nodes.js';
import type { Block, Workspace } from './packed.js';
import { type PanelLayout, panelStart } from './panels.js';
import { divides, indices } from './sizes.js';
import type { Contraction } from './spec.js';

/** How tiles are multiplied. */
export interface TileForm {
  readonly rows: number;
  readonly columns: number;
  /** Elements of one vector register. */
  readonly lanes: number;
  readonly blockDepth: number;
  /** Where the packed rows are. */
  readonly left: PanelLayout;
}

interface Corner {
  readonly i: Expr;
  readonly j: Expr;
}

type Sums = readonly (readonly Var[])[];

/** All sums of one tile live in locals while one block of k is worked off. */
export function registerTile(
  spec: Contraction,
  shape: TileForm,
  workspace: Workspace,
  block: Block,
  corner: Corner,
): Stmt {
  const { rows, columns, lanes } = shape;
  const sums: Sums = Array.from({ length: rows }, () =>
    Array.from({ length: columns / lanes }, () => e.variable('sum', spec.scalar, lanes)),
  );
  const zero = e.constant(spec.scalar, 0, lanes);
  const store = storeTile(spec, shape, workspace, block.batch, corner, sums);
  return e.block(
    ...sums.flat().map((sum) => e.declare(sum, zero)),
    ...(workspace.sums === null
      ? [multiply(spec, shape, workspace, block, corner, sums), store]
      : [
          e.ifThen(e.gt(block.k0, 0), partialSums(shape, workspace, block, corner, sums, 'load')),
          multiply(spec, shape, workspace, block, corner, sums),
          e.ifThen(
            e.ge(e.add(block.k0, shape.blockDepth), spec.k),
            store,
            partialSums(shape, workspace, block, corner, sums, 'store'),
          ),
        ]),
  );
}

/**
 * The loop that takes the time. It advances two pointers, so that everything else is the constant
 * offset of an access.
 */
function multiply(
  spec: Contraction,
  { columns, lanes, left: layout }: TileForm,
  { left, right }: Workspace,
  { i0, j0, depth }: Block,
  { i, j }: Corner,
  sums: Sums,
): Stmt {
  const [a, b] = ['a', 'b'].map((name) => e.variable(name, 'i32'));
  const step = (at: number): readonly Stmt[] => {
    const inRow = sums[0].map(() => e.variable('right', spec.scalar, lanes));
    return [
      ...inRow.map((value, v) =>
        e.declare(value, e.load(right, vectorAt(b, at * columns + v * lanes, lanes))),
      ),
      ...sums.flatMap((line, r) => {
        const factor = e.variable('left', spec.scalar, lanes);
        const place = offset(a, at * layout.inner + r * layout.outer);
        return [
          e.declare(factor, e.broadcast(e.load(left, place), lanes)),
          ...line.map((sum, v) => e.assign(sum, e.add(sum, e.mul(factor, inRow[v])))),
        ];
      }),
    ];
  };
  /** Steps while `b` has not come to an end. */
  const steps = (end: Var, count: number): Stmt =>
    e.whileLoop(
      e.lt(b, end),
      e.block(
        ...Array.from({ length: count }, (_, at) => step(at)).flat(),
        e.assign(a, e.add(a, count * layout.inner)),
        e.assign(b, e.add(b, count * columns)),
      ),
    );
  const atOnce = spec.context.target.productSteps;
  const [end, whole] = ['end', 'whole'].map((name) => e.variable(name, 'i32'));
  const isWhole = atOnce === 1 || divides(depth, atOnce);
  return e.block(
    e.declare(a, panelStart(layout, e.sub(i, i0), depth)),
    e.declare(b, e.mul(e.sub(j, j0), depth)),
    e.declare(end, e.add(b, e.mul(depth, columns))),
    ...(isWhole
      ? [steps(end, atOnce)]
      : [
          e.declare(whole, e.sub(end, e.mul(e.rem(depth, atOnce), columns))),
          steps(whole, atOnce),
          steps(end, 1),
        ]),
  );
}

function vectorAt(start: Expr, distance: number, lanes: number): Expr {
  const at = offset(start, distance);
  return lanes === 1 ? at : e.ramp(at, 1, lanes);
}

function offset(start: Expr, distance: number): Expr {
  return distance === 0 ? start : e.add(start, distance);
}

/** Keeps the sums in memory, or takes them up again; tiles lie there in the order they are visited. */
function partialSums(
  { rows, columns, lanes }: TileForm,
  workspace: Workspace,
  { i0, i1, j0 }: Block,
  { i, j }: Corner,
  sums: Sums,
  direction: 'load' | 'store',
): Stmt {
  const memory = workspace.sums!;
  const tilesDown = e.div(e.add(e.sub(i1, i0), rows - 1), rows);
  const tile = e.add(e.mul(e.div(e.sub(j, j0), columns), tilesDown), e.div(e.sub(i, i0), rows));
  const place = e.variable('place', 'i32');
  const each = sums.flatMap((line, r) =>
    line.map((sum, v) => {
      const at = vectorAt(place, r * columns + v * lanes, lanes);
      return direction === 'load' ? e.assign(sum, e.load(memory, at)) : e.store(memory, at, sum);
    }),
  );
  return e.block(e.declare(place, e.mul(tile, rows * columns)), ...each);
}

/** Tiles inside the result are stored from registers, others through memory, as far as they reach. */
function storeTile(
  { m, n, store }: Contraction,
  { rows, columns, lanes }: TileForm,
  { edge }: Workspace,
  batch: Expr,
  { i, j }: Corner,
  sums: Sums,
): Stmt {
  const inside = e.block(
    ...indices(i, rows).flatMap((row, r) =>
      sums[r].map((sum, v) => store(batch, row, vectorAt(j, v * lanes, lanes), sum)),
    ),
  );
  if (divides(m, rows) && divides(n, columns)) return inside;
  const spilled = sums.flatMap((line, r) =>
    line.map((sum, v) => e.store(edge, vectorAt(e.i32(r * columns), v * lanes, lanes), sum)),
  );
  const reach = e.min(e.sub(n, j), columns);
  const whole = e.sub(reach, e.rem(reach, lanes));
  const copied = e.forLoop('row', 0, e.min(e.sub(m, i), rows), (row) => {
    const copy = (column: Expr, width: number): Stmt => {
      const value = e.load(edge, vectorAt(e.add(e.mul(row, columns), column), 0, width));
      return store(batch, e.add(i, row), vectorAt(e.add(j, column), 0, width), value);
    };
    return e.block(
      e.forLoop('column', 0, whole, (column) => copy(column, lanes), { step: lanes }),
      e.forLoop('column', whole, reach, (column) => copy(column, 1)),
    );
  });
  const fits = e.and(e.le(e.add(i, rows), m), e.le(e.add(j, columns), n));
  return e.ifThen(fits, inside, e.block(...spilled, copied));
}
