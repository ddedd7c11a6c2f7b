import * as kn from '../../src/index.js';
import type { Expression, Tree } from './data.js';

/**
 * The trees of a batch as one table with a row for each node: the leaves first, then the inner nodes by
 * height, so that the nodes of one height lie side by side and below their children.
 */
export interface TreeBatch {
  /** The symbols of the leaves, 0 for inner nodes: int32[nodes]. */
  readonly symbols: kn.NDArray;
  /** The rows of the left and of the right children of inner nodes, 0 for leaves: int32[2, nodes]. */
  readonly children: kn.NDArray;
  /** The first row of each height from 1 on, and the row behind its last: int32[heights]. */
  readonly begin: kn.NDArray;
  readonly end: kn.NDArray;
  /** The rows of the roots, and what the expressions stand for: int32[trees]. */
  readonly roots: kn.NDArray;
  readonly values: kn.NDArray;
}

/** The axes of a batch that differ from one to the next. */
export const treeAxes = {
  symbols: ['nodes'],
  children: [null, 'nodes'],
  begin: ['heights'],
  end: ['heights'],
  roots: ['trees'],
  values: ['trees'],
} as const;

/** A node by its height, and its place among the nodes of that height. */
interface Place {
  readonly height: number;
  readonly index: number;
}

/** Lays out trees of any shapes. */
export function batchTrees(expressions: readonly Expression[]): TreeBatch {
  const leaves: number[] = [];
  const inner: (readonly [left: Place, right: Place])[][] = [];
  const placed = (tree: Tree): Place => {
    if (typeof tree === 'number') return { height: 0, index: leaves.push(tree) - 1 };
    const children = [placed(tree[0]), placed(tree[1])] as const;
    const height = 1 + Math.max(...children.map((child) => child.height));
    inner[height - 1] ??= [];
    return { height, index: inner[height - 1].push(children) - 1 };
  };
  const roots = expressions.map(({ tree }) => placed(tree));

  const begins = [0];
  [leaves, ...inner].forEach(({ length }, height) => begins.push(begins[height] + length));
  const rowOf = ({ height, index }: Place): number => begins[height] + index;
  const ints = (values: readonly number[] | readonly number[][]): kn.NDArray =>
    kn.array(values, { dtype: 'int32' });
  const children = [0, 1].map((side) => [
    ...leaves.map(() => 0),
    ...inner.flat().map((pair) => rowOf(pair[side])),
  ]);
  return {
    symbols: ints([...leaves, ...inner.flat().map(() => 0)]),
    children: ints(children),
    begin: ints(begins.slice(1, -1)),
    end: ints(begins.slice(2)),
    roots: ints(roots.map(rowOf)),
    values: ints(expressions.map(({ value }) => value)),
  };
}
