import * as kn from '../../src/index.js';
import { type TreeBatch } from './batch.js';
import { symbols, type Tree } from './data.js';

/** What a node of a tree knows: its hidden state and its memory cell, each (nodes, size). */
export interface NodeStates {
  readonly h: kn.NDArray;
  readonly c: kn.NDArray;
}

/**
 * The cell of a binary tree: an LSTM with two predecessors, a forget gate for each of them.
 * Source: Tai, Socher and Manning, Improved Semantic Representations From Tree-Structured Long Short-Term
 * Memory Networks, ACL 2015, equations 9 to 14 with two children.
 */
export class TreeCell extends kn.nn.HybridBlock {
  gates: kn.nn.Dense;

  constructor(size: number) {
    super();
    this.gates = new kn.nn.Dense(5 * size);
  }

  override forward(left: NodeStates, right: NodeStates): NodeStates {
    const gates = this.gates.call(kn.concat([left.h, right.h], -1));
    const [input, forgetLeft, forgetRight, output, update] = gates.split(5, -1);
    const kept = forgetLeft.sigmoid().mul(left.c).add(forgetRight.sigmoid().mul(right.c));
    const c = input.sigmoid().mul(update.tanh()).add(kept);
    return { h: output.sigmoid().mul(c.tanh()), c };
  }
}

/** Reads expressions from their leaves to their roots; logits of the ten digits that they may stand for. */
export class TreeReader extends kn.nn.HybridBlock {
  embed: kn.nn.Embedding;
  leafGates: kn.nn.Dense;
  cell: TreeCell;
  classify: kn.nn.Dense = new kn.nn.Dense(10);

  constructor(size: number) {
    super();
    this.embed = new kn.nn.Embedding(symbols.length, size);
    this.leafGates = new kn.nn.Dense(3 * size);
    this.cell = new TreeCell(size);
  }

  /** The states of leaves. Theirs depend on nothing but the symbol. */
  leaves(leafSymbols: kn.NDArray): NodeStates {
    const gates = this.leafGates.call(this.embed.call(leafSymbols));
    const [input, output, update] = gates.split(3, -1);
    const c = input.sigmoid().mul(update.tanh());
    return { h: output.sigmoid().mul(c.tanh()), c };
  }

  /**
   * All nodes of a batch, whatever the shapes of its trees: height by height, each time those nodes whose
   * children are done. The table of states begins with every row as a leaf.
   */
  override forward({ symbols, children, begin, end, roots }: TreeBatch): kn.NDArray {
    const [, { h }] = kn.foreach(
      (level, table) => {
        const rows = children.slice(':', [level.begin, level.end]);
        const childrenOn = (side: number): NodeStates => {
          const at = rows.slice(side);
          return { h: table.h.take(at, { axis: 0 }), c: table.c.take(at, { axis: 0 }) };
        };
        const nodes = this.cell.call(childrenOn(0), childrenOn(1));
        return [
          [],
          {
            h: table.h.updateSlice(nodes.h, level.begin, 0),
            c: table.c.updateSlice(nodes.c, level.begin, 0),
          },
        ];
      },
      { begin, end },
      this.leaves(symbols),
    );
    return this.classify.call(h.take(roots, { axis: 0 }));
  }

  /** One tree, node by node: what `forward` computes, the slow way. */
  readTree(tree: Tree): NodeStates {
    if (typeof tree === 'number') return this.leaves(kn.array([tree], { dtype: 'int32' }));
    return this.cell.call(this.readTree(tree[0]), this.readTree(tree[1]));
  }
}
