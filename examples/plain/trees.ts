import * as kn from '../../src/index.js';
import type { TreeBatch } from '../listops/batch.js';
import { TreeReader } from '../listops/model.js';

/** The reader of expressions with its loop over the heights of trees in plain control flow. */
export class PlainTreeReader extends TreeReader {
  override forward({ symbols, children, begin, end, roots }: TreeBatch): kn.NDArray {
    'use graph';
    let { h, c } = this.leaves(symbols);
    for (const level of kn.stack([begin, end], 1)) {
      const from = level.slice(0);
      const rows = children.slice(':', [from, level.slice(1)]);
      const [left, right] = [rows.slice(0), rows.slice(1)];
      const nodes = this.cell.call(
        { h: h.take(left, { axis: 0 }), c: c.take(left, { axis: 0 }) },
        { h: h.take(right, { axis: 0 }), c: c.take(right, { axis: 0 }) },
      );
      h = h.updateSlice(nodes.h, from, 0);
      c = c.updateSlice(nodes.c, from, 0);
    }
    return this.classify.call(h.take(roots, { axis: 0 }));
  }
}
