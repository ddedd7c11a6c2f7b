import * as kn from '../../../src/index.js';

/*
 * Loops and branches of JavaScript around the library's own arrays: what they compute, draw and write is what eager
 * code does, statement by statement.
 */

type Tree = kn.NDArray | readonly Tree[];
type Vars = readonly kn.NDArray[];

/** No iteration has run that would say what its rows are. */
export class Unrun extends Error {}

function leavesOf(tree: Tree): kn.NDArray[] {
  return tree instanceof kn.NDArray ? [tree] : tree.flatMap(leavesOf);
}

function withLeaves(tree: Tree, leaves: readonly kn.NDArray[]): Tree {
  let next = 0;
  const build = (one: Tree): Tree => (one instanceof kn.NDArray ? leaves[next++] : one.map(build));
  return build(tree);
}

function stacked(rows: readonly Tree[], missing: number = 0): Tree {
  if (rows.length === 0) throw new Unrun('no iteration');
  const columns = leavesOf(rows[0]).map((like, k) => {
    const zeros = Array.from({ length: missing }, () => kn.zerosLike(like));
    return kn.stack([...rows.map((row) => leavesOf(row)[k]), ...zeros]);
  });
  return withLeaves(rows[0], columns);
}

const holds = (test: kn.NDArray): boolean => test.dataSync()[0] !== 0;

interface PlainWhileOptions {
  readonly maxIterations?: number;
  readonly padded?: boolean;
}

/** The library with such loops. */
export const byHand: object = {
  ...kn,
  detach: (x: kn.NDArray) => x.detach(),
  checkpoint: (fn: unknown) => fn,
  hybridize: (fn: unknown) => fn,
  cond: (test: kn.NDArray, then: () => unknown, otherwise: () => unknown) =>
    holds(test) ? then() : otherwise(),
  foreach: (
    body: (row: Tree, states: Tree) => readonly [Tree, Tree],
    data: Tree,
    init: Tree,
    { reverse = false }: { readonly reverse?: boolean } = {},
  ) => {
    const columns = leavesOf(data);
    const count = columns[0].shape[0];
    const rows: Tree[] = [];
    let states = init;
    for (let k = 0; k < count; k++) {
      const i = reverse ? count - 1 - k : k;
      const [row, next] = body(withLeaves(data, columns.map((one) => one.slice(i))), states); // prettier-ignore
      rows.push(row);
      states = next;
    }
    return [stacked(reverse ? rows.reverse() : rows), states];
  },
  whileLoop: (
    condition: (...vars: Vars) => kn.NDArray,
    body: (...vars: Vars) => readonly [Tree, Vars],
    init: Vars,
    { maxIterations = Infinity, padded = false }: PlainWhileOptions = {},
  ) => {
    const rows: Tree[] = [];
    let vars = init;
    while (rows.length < maxIterations && holds(condition(...vars))) {
      // Programs that are made smaller need not end.
      if (rows.length > 50) throw new Unrun('a loop does not end');
      const [row, next] = body(...vars);
      rows.push(row);
      vars = next;
    }
    const missing = padded ? maxIterations - rows.length : 0;
    return [stacked(rows, missing), vars, kn.array(rows.length, { dtype: 'int32' })];
  },
  push: (
    step: (row: kn.NDArray, state: kn.NDArray) => Vars,
    data: kn.NDArray,
    init: kn.NDArray,
    first: kn.NDArray,
    isEach: boolean,
  ) => {
    const parts = [first.expandDims(0)];
    let state = init;
    for (let i = 0; i < data.shape[0]; i++) {
      const [value, flag, next] = step(data.slice(i), state);
      state = next;
      if (holds(flag)) parts.push(isEach ? value : value.expandDims(0));
    }
    return [kn.concat(parts), state];
  },
};
