import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import type { ProductTile } from './tile.js';

/**
 * Adds products to the sums of an invocation, by rows of vectors of columns, for all steps that are in memory of the
 * workgroup. `left` has four steps of a row, `right` the columns of a vector at a step, each by its number among those
 * of the invocation.
 */
export function multiplyPanels(
  sums: readonly Var[],
  { rows, vectors, depth }: Pick<ProductTile, 'rows' | 'vectors' | 'depth'>,
  left: (row: number, kk: Expr) => Expr,
  right: (vector: number, kk: Expr) => Expr,
): Stmt {
  const { scalar } = sums[0].type;
  const locals = (name: string, count: number): readonly Var[] =>
    Array.from({ length: count }, (_, at) => e.variable(`${name}${at}`, scalar, lanes));
  const [a, b] = [locals('a', rows), locals('b', lanes * vectors)];
  const multiply = (at: Expr): Stmt =>
    e.block(
      ...a.map((local, row) => e.declare(local, left(row, at))),
      ...Array.from({ length: lanes }, (_, step) => [
        ...b
          .slice(step * vectors, (step + 1) * vectors)
          .map((local, vector) => e.declare(local, right(vector, e.add(at, step)))),
        ...sums.map((sum, k) => {
          const factor = e.extract(a[Math.floor(k / vectors)], step);
          return e.assign(sum, e.add(sum, e.mul(factor, b[step * vectors + (k % vectors)])));
        }),
      ]).flat(),
    );
  return e.forLoop('kk', 0, depth, multiply, { step: lanes });
}
