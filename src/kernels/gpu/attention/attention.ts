import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { attention } from '../../../ops/index.js';
import { boundedExponential } from '../../../ops/elementwise/expressions/exponential.js';
import {
  type AttentionAttributes,
  attentionNest,
} from '../../../ops/normalization/attention-nests.js';
import { greaterNumber } from '../../../ops/reduction/best.js';
import { kernelCall } from '../choices.js';
import { joinLanes, overTiles } from './group.js';
import { GroupResults, RunningSum, sumOverColumns } from './sums.js';
import { type HeadWidths, tileOf, type TileWork, widthsOf } from './tile.js';

/** Products of queries and keys, and of weights and values. */
export function forwardWork({ size, channels }: HeadWidths): TileWork {
  return { scores: [size], results: [channels] };
}

/** The exponential of a difference to the greatest score. */
export const power = (x: Expr, offset: Expr): Expr => boundedExponential(e.sub(x, offset));

/** What is subtracted from scores of which none may be seen. */
export const finite = (greatest: Expr): Expr =>
  e.select(e.eq(greatest, -Infinity), e.constant('f32', 0), greatest);

/** A divisor for sums of no powers. */
export const divisorOf = (total: Expr): Expr =>
  e.select(e.eq(total, 0), e.constant('f32', 1), total);

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
    const [greatest, offsets, scales, blocks, factors] = ['greatest', 'offset', 'scale', 'block', 'factor'].map((name) => group.locals(name));
    const [scores, powers] = ['score', 'power'].map((name) => group.locals(name, 4));
    const totals = group.perRow((row) => new RunningSum(`total${row}`, keys));
    const begin = (locals: typeof greatest, value: number): readonly Stmt[] => locals.map((local) => e.declare(local, e.constant('f32', value)));
    const end = causal ? e.min(keys, e.add(group.first, tile.rows * tile.below)) : keys;
    const body = (from: Expr): Stmt => {
      const { values, statements } = group.products('product', q, k, widths.size, from);
      const best = greatest.map((so, row) => greaterNumber(so, joinLanes(scores[row], greaterNumber)));
      const { joined, statements: joining } = group.joinRows('next', best, greaterNumber);
      return e.block(
        ...statements,
        ...scores.map((score, row) => e.declare(score, group.score(values[row], group.row(row), group.columns(from)))),
        ...joining,
        ...group.perRow((row) => [
          e.declare(offsets[row], finite(joined[row])),
          e.declare(scales[row], power(greatest[row], offsets[row])),
          e.assign(greatest[row], joined[row]),
          e.declare(powers[row], power(scores[row], offsets[row])),
          ...totals[row].scale(scales[row]),
          totals[row].add(joinLanes(powers[row], e.add)),
          group.put(row, powers[row]),
        ]).flat(),
        ...results.sums.map((sum, at) => e.assign(sum, e.mul(sum, scales[results.rowOf(at)]))),
        results.add(from),
      );
    };
    const rescaled = {
      factors,
      before: [...begin(blocks, -Infinity), ...begin(factors, 0)],
      behind: group.perRow((row) => [
        e.assign(factors[row], power(blocks[row], finite(greatest[row]))),
        e.assign(blocks[row], greatest[row]),
      ]).flat(),
    };
    const { joined, statements } = group.joinRows('divisor', totals.map(({ result }) => result), e.add);
    return e.block(
      ...begin(greatest, -Infinity),
      ...totals.flatMap((total) => total.begin),
      ...sumOverColumns(group, [results], { begin: e.i32(0), end, extent: keys }, body, rescaled),
      ...statements,
      results.store(out, (sum, row) => e.div(sum, divisorOf(joined[row]))),
    );
  });
} // prettier-ignore
