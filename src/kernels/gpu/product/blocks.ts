import * as e from '../../../loop/language/build.js';
import { addWithError } from '../../../loop/language/compensation.js';
import type { Expr, Stmt, Var } from '../../../loop/language/nodes.js';
import { isLong } from '../../contraction/long-sums.js';

/** Terms of one block of a long sum (decision 46). */
const blockTerms = 48;

/**
 * Sums in variables of what `steps` adds to them for ranges below `end`; `depth` divides where they begin. Sums of many
 * floats, `terms` over all invocations, are made in blocks, whose sums carry what they round away.
 */
export function sumInBlocks(
  sums: readonly Var[],
  end: Expr,
  terms: Expr,
  depth: number,
  steps: (begin: Expr, end: Expr) => Stmt,
): Stmt {
  const { scalar, lanes } = sums[0].type;
  if (!isLong({ k: terms, scalar })) return steps(e.i32(0), end);
  const block = Math.ceil(blockTerms / depth) * depth;
  const locals = (name: string): readonly Var[] =>
    sums.map((sum, at) => e.variable(`${name}${at}`, sum.type.scalar, lanes));
  const none = e.constant(scalar, 0, lanes);
  const [totals, errors] = [locals('total'), locals('error')];
  const carry = sums.flatMap((sum, at) => [
    addWithError(totals[at], errors[at], sum),
    e.assign(sum, none),
  ]);
  return e.block(
    ...totals.map((total) => e.declare(total, none)),
    ...errors.map((error) => e.declare(error, none)),
    e.forLoop(
      'block',
      0,
      end,
      (begin) => e.block(steps(begin, e.min(e.add(begin, block), end)), ...carry),
      { step: block },
    ),
    ...sums.map((sum, at) => e.assign(sum, e.add(totals[at], errors[at]))),
  );
}
