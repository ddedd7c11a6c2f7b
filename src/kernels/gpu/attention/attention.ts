import * as e from '../../../loop/language/build.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import { attention } from '../../../ops/index.js';
import { boundedExponential } from '../../../ops/elementwise/expressions/exponential.js';
import {
  type AttentionAttributes,
  attentionNest,
  attentionScalar,
} from '../../../ops/normalization/attention-nests.js';
import { kernelCall } from '../choices.js';
import { AttentionTile, RunningSum, sideOf, type TileMemory, widthsOf } from './tiles.js';

/** Queries, and the scores and weights of a tile. */
export const forwardMemory: TileMemory = { sizes: 1, channels: 0, tables: 2 };

/**
 * `softmax(q k^T * scale + mask) v`: a workgroup for each tile of queries. The greatest score so far scales what has been
 * summed (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
 */
export function groupedAttention(context: KernelContext<AttentionAttributes>): Stmt {
  const [q, k, v, mask] = context.inputs;
  const [out] = context.outputs;
  const widths = widthsOf(q, v);
  const call = kernelCall(attention, context);
  const side = widths === null ? null : sideOf(call, widths, forwardMemory, attentionScalar(q));
  if (widths === null || side === null) return attentionNest(context);
  const { size, channels } = widths;
  const tile = new AttentionTile(context, out.shape, mask, widths, side);
  const [queries, keys] = [q.shape.at(-2)!, k.shape.at(-2)!];
  const own = tile.rows('queries', size);
  const panel = tile.rows('panel', Math.max(size, channels), true);
  const [scores, weights] = ['scores', 'weights'].map((name) => tile.table(name));
  return tile.over(queries, (first) => {
    const { scalar, row, column } = tile;
    const [greatest, next, offset, scale, score] = ['greatest', 'next', 'offset', 'scale', 'score'].map((name) => e.variable(name, scalar)); // prettier-ignore
    const total = new RunningSum('total', scalar, keys);
    const sums = tile.sums('sum', channels, keys);
    const part = e.variable('power', scalar);
    const query = e.variable('query', 'i32');
    const end = context.attributes.causal ? e.min(keys, e.add(first, side)) : keys;
    const { value, statements } = tile.dot('product', own, panel, size);
    const divisor = e.select(e.eq(total.result, 0), e.constant(scalar, 1), total.result);
    return e.block(
      e.declare(query, e.add(first, row)),
      e.declare(greatest, e.constant(scalar, -Infinity)),
      ...total.begin,
      ...sums.begin,
      tile.fill(own, q, first, size),
      e.forLoop(
        'key',
        0,
        end,
        (key) =>
          e.block(
            tile.fill(panel, k, key, size),
            e.workgroupBarrier,
            ...statements,
            e.declare(
              score,
              tile.score(value, e.min(query, e.sub(queries, 1)), e.add(key, column)),
            ),
            tile.put(scores, score),
            e.workgroupBarrier,
            // NaN is not a maximum, but its exponential is NaN, and so is the total.
            e.declare(next, greatest),
            e.forLoop('other', 0, side, (other) => {
              const each = e.variable('each', scalar);
              const at = e.add(e.mul(row, scores.stride), other);
              return e.block(
                e.declare(each, e.load(scores.buffer, at)),
                e.assign(next, e.select(e.lt(next, each), each, next)),
              );
            }),
            e.declare(offset, e.select(e.eq(next, -Infinity), e.constant(scalar, 0), next)),
            e.declare(scale, boundedExponential(e.sub(greatest, offset))),
            e.assign(greatest, next),
            tile.put(weights, boundedExponential(e.sub(score, offset))),
            tile.fill(panel, v, key, channels),
            e.workgroupBarrier,
            ...total.scale(scale),
            ...sums.scale(scale),
            e.declare(part, e.constant(scalar, 0)),
            sums.addProduct(weights, panel, (factor) => e.assign(part, e.add(part, factor))),
            total.add(part),
            e.workgroupBarrier,
          ),
        { step: side },
      ),
      sums.store(out, query, queries, (sum) => e.div(sum, divisor)),
    );
  });
}
