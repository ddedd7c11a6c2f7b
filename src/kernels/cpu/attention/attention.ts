import * as e from '../../../loop/language/build.js';
import type { Expr, Stmt } from '../../../loop/language/nodes.js';
import type { KernelContext } from '../../../ops/declare/lowering.js';
import type { AttentionAttributes } from '../../../ops/normalization/attention-nests.js';
import { Heads, overTable } from './heads.js';
import { SumTable } from './sums.js';

/** The loops of attention. */
export function attentionLoops(context: KernelContext<AttentionAttributes>): Stmt {
  const [, , v, mask] = context.inputs;
  const [out] = context.outputs;
  const heads = new Heads(context, out.shape, mask, 1);
  const { rows, stride, channels } = heads;
  const scores = heads.scratch('scores', rows, stride);
  const totals = heads.scratch('totals', rows);
  const { causal } = context.attributes;
  const sums = causal ? new SumTable(heads, 'sums', e.i32(rows), channels, heads.keys) : null;
  const mixed = (head: Expr, begin: Expr, i: Expr, c: Expr, value: Expr): Stmt =>
    heads.store(out, head, e.add(begin, i), c, e.div(value, e.load(totals, i)));
  return heads.overBlocks((head, begin, height) =>
    e.block(
      heads.weights(head, begin, height, scores, (row, total) => e.store(totals, row, total)),
      sums === null ? e.block() : sums.clear(height),
      heads.overKeys(begin, height, (key, width) =>
        heads.product({
          m: height,
          n: channels,
          k: width,
          a: (i, j) => e.load(scores, e.add(e.mul(i, stride), e.add(key, j))),
          b: (j, c) => heads.read(v, head, e.add(key, j), c),
          store: (i, c, value) =>
            sums === null ? mixed(head, begin, i, c, value) : sums.add(i, c, value),
        }),
      ),
      sums === null
        ? e.block()
        : overTable(height, channels, (i, c) => mixed(head, begin, i, c, sums.at(i, c))),
    ),
  );
}
