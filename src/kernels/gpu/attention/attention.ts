import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import { gridLanes as lanes } from '../../../loop/language/team.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { attention } from '../../../ops/index.js';
import { boundedExponential } from '../../../ops/elementwise/expressions/exponential.js';
import {
  type AttentionAttributes,
  attentionNest,
} from '../../../ops/normalization/attention-nests.js';
import { greaterNumber } from '../../../ops/reduction/best.js';
import { kernelCall } from '../choices.js';
import { overLanes, overTiles, packed, beginZero } from './group.js';
import { GroupResults, RunningSums, sumOverColumns } from './sums.js';
import { heightOf, type HeadWidths, tileOf, type TileWork, widthsOf } from './tile.js';

/** Products of queries and keys, and of weights and values. */
export function forwardWork({ size, channels }: HeadWidths): TileWork {
  return { scores: [size], results: [channels] };
}

/** The exponential of a difference to the greatest score. */
export const power = (x: Expr, offset: Expr): Expr => boundedExponential(e.sub(x, offset));

/** The greatest of no scores, for each row. */
export const nothing: Expr = e.constant('f32', -Infinity, lanes);

/** Number that is subtracted from scores: the greatest one, or 0 where none may be seen. */
export const offsetOf = (greatest: Expr): Expr => e.select(e.eq(greatest, -Infinity), 0, greatest);

/** A divisor for sums of no powers. */
export const divisorOf = (total: Expr): Expr => e.select(e.eq(total, 0), 1, total);

/**
 * `softmax(q k^T * scale + mask) v`: a workgroup for each tile of queries. The greatest score so far scales what has been
 * summed (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
 */
export function groupedAttention(context: KernelContext<AttentionAttributes>): Stmt {
  const [q, k, v, mask] = context.inputs;
  const [out] = context.outputs;
  const { causal } = context.attributes;
  const widths = widthsOf(q, v);
  if (widths === null) return attentionNest(context);
  const work = forwardWork(widths);
  const [queries, keys] = [q, k].map(({ shape }) => shape.at(-2)!);
  const call = kernelCall(attention, context);
  const tile = tileOf(call, work, context.inputs, out.shape.slice(0, -2), queries);
  if (tile === null) return attentionNest(context);
  return overTiles(context, out.shape, queries, { tile, work, mask, isReversed: causal }, (group) => {
    const results = new GroupResults(group, 'sum', v, widths.channels);
    const [greatest, offset, scale, block, factors] = ['greatest', 'offset', 'scale', 'block', 'factor'].map((name) => e.variable(name, 'f32', lanes));
    const [scores, powers] = ['score', 'power'].map((name) => group.locals(name, lanes));
    const total = new RunningSums('total', keys);
    const end = causal ? e.min(keys, e.add(group.first, heightOf(tile))) : keys;
    const body = (from: Expr): Stmt => {
      const { values, statements } = group.products('product', q, k, widths.size, from);
      const best = packed(scores.map((score) => overLanes(score, greaterNumber)));
      const { joined, statements: joining } = group.joinRows('next', greaterNumber(greatest, best), greaterNumber);
      return e.block(
        ...statements,
        ...scores.map((score, row) => e.declare(score, group.score(values[row], group.row(row), group.columns(from)))),
        // NaN is not a maximum, but its exponential is NaN, and so is the total.
        ...joining,
        e.declare(offset, offsetOf(joined)),
        e.declare(scale, power(greatest, offset)),
        e.assign(greatest, joined),
        ...powers.map((local, row) => e.declare(local, power(scores[row], e.extract(offset, row)))),
        ...powers.map((local, row) => group.put(row, local)),
        ...total.scale(scale),
        total.add(packed(powers.map((local) => overLanes(local, e.add)))),
        ...results.sums.map((sum, at) => e.assign(sum, e.mul(sum, e.extract(scale, results.rowOf(at))))),
        results.add(from),
      );
    };
    const rescaled = {
      factors,
      before: [e.declare(block, nothing), beginZero(factors)],
      behind: [e.assign(factors, power(block, offsetOf(greatest))), e.assign(block, greatest)],
    };
    const { joined, statements } = group.joinRows('divisor', total.result, e.add);
    return e.block(
      e.declare(greatest, nothing),
      ...total.begin,
      ...sumOverColumns(group, [results], { begin: e.i32(0), end, extent: keys }, body, rescaled),
      ...statements,
      e.assign(joined, divisorOf(joined)),
      results.store(out, (sum, row) => e.div(sum, e.extract(joined, row))),
    );
  });
} // prettier-ignore
