import * as n from './duals.js';
import { Misfit, plain, type Plain, rowsOf, stacked, zerosOf } from './plain.js';

/*
 * Control flow by loops and branches of JavaScript. Where a loop has no iteration, its body is tried for the shapes of
 * its rows.
 */

type Tree = Plain | readonly Tree[];

/** Nothing says what a result is: no iteration has run that would, or there is no derivative. */
export class Undecided extends Error {}

const isPlain = (tree: unknown): tree is Plain => typeof tree === 'object' && tree !== null && 'data' in tree; // prettier-ignore

function leavesOf(tree: Tree): Plain[] {
  return isPlain(tree) ? [tree] : tree.flatMap(leavesOf);
}

/** The tree with other leaves, in order. */
function withLeaves(tree: Tree, leaves: readonly Plain[]): Tree {
  let next = 0;
  const build = (one: Tree): Tree => (isPlain(one) ? leaves[next++] : one.map(build));
  return build(tree);
}

/** The rows of each output, stacked; where there are none, as those of a body that is only tried. */
function collected(rows: readonly Tree[], tried: () => Tree, padding = 0): Tree {
  const like = rows.length > 0 ? rows[0] : tried();
  const columns = leavesOf(like).map((leaf, k) => {
    const given = rows.map((row) => leavesOf(row)[k]);
    const zeros = plain(
      leaf.dtype,
      leaf.shape,
      leaf.data.map(() => 0),
    );
    return stacked([...given, ...Array.from({ length: padding }, () => zeros)], leaf);
  });
  return withLeaves(like, columns);
}

/** Truth values of all tests while a body runs only for the shapes that it gives; null while it does not. */
let assumed: boolean | null = null;

/** Positions where a mask holds. */
export function positionsIn({ data }: Plain): number[] {
  // An empty mask selects nothing whatever it holds; that a body has one is not known without an iteration.
  if (assumed !== null && data.length === 0) throw new Undecided('an empty mask');
  return [...data.keys()].filter((i) => isTrue(data[i]));
}

function isTrue(x: n.Num): boolean {
  return assumed ?? n.valueOf(x) !== 0;
}

/** Runs a body for the shapes that it gives, which must be the same whatever its tests say. */
function inTrial(fn: () => Tree): Tree {
  const before = assumed;
  try {
    const [one, other] = [false, true].map((truth) => {
      assumed = truth;
      return fn();
    });
    if (shapesOf(one) !== shapesOf(other)) throw new Undecided('no iteration decides the sizes of rows'); // prettier-ignore
    return one;
  } catch (error) {
    throw error instanceof Undecided ? error : new Undecided(String(error));
  } finally {
    assumed = before;
  }
}

function shapesOf(tree: Tree): string {
  return leavesOf(tree).map(({ shape }) => shape.join()).join(';'); // prettier-ignore
}

/** States keep their dtypes and shapes. */
function checkAlike(before: Tree, after: Tree): void {
  const typesOf = (tree: Tree): string => leavesOf(tree).map(({ dtype, shape }) => `${dtype}[${shape.join()}]`).join(); // prettier-ignore
  if (typesOf(before) !== typesOf(after)) throw new Misfit(`${typesOf(before)} becomes ${typesOf(after)}`); // prettier-ignore
}

type Body = (slice: Tree, states: Tree) => readonly [Tree, Tree];

export function foreach(
  body: Body,
  data: Tree,
  init: Tree,
  { reverse = false }: { reverse?: boolean } = {},
): [Tree, Tree] {
  // prettier-ignore
  const columns = leavesOf(data).map(rowsOf);
  const count = columns[0].length;
  const rows: Tree[] = [];
  let states = init;
  for (let k = 0; k < count; k++) {
    const i = reverse ? count - 1 - k : k;
    const [row, next] = body(withLeaves(data, columns.map((column) => column[i])), states); // prettier-ignore
    rows.push(row);
    checkAlike(states, next);
    states = next;
  }
  const zeros = (): Tree => withLeaves(data, leavesOf(data).map(({ dtype, shape: [, ...rest] }) => zerosOf(dtype, rest))); // prettier-ignore
  const tried = (): Tree => inTrial(() => body(zeros(), init)[0]);
  return [collected(reverse ? rows.reverse() : rows, tried), states];
}

type Vars = readonly Plain[];

interface WhileOptions {
  readonly maxIterations?: number;
  readonly padded?: boolean;
}

export function whileLoop(
  condition: (...vars: Vars) => Plain,
  body: (...vars: Vars) => readonly [Tree, Vars],
  init: Vars,
  { maxIterations = Infinity, padded = false }: WhileOptions = {},
): [Tree, Vars, Plain] {
  const rows: Tree[] = [];
  let vars = init;
  const most = Math.min(maxIterations, assumed === null ? Infinity : 2);
  while (rows.length < most && isTrue(condition(...vars).data[0])) {
    // Programs that are made smaller need not end.
    if (rows.length > 50) throw new Misfit('a loop does not end');
    const [row, next] = body(...vars);
    rows.push(row);
    checkAlike(vars, next);
    vars = next;
  }
  const tried = (): Tree => inTrial(() => body(...init)[0]);
  const outputs = collected(rows, tried, padded ? maxIterations - rows.length : 0);
  return [outputs, vars, plain('int32', [], [rows.length])];
}

export function cond(predicate: Plain, then: () => Tree, otherwise: () => Tree): Tree {
  return isTrue(predicate.data[0]) ? then() : otherwise();
}

/** Rows that a loop pushes to a list which begins with one, where a truth value of the iteration holds. */
export function push(
  step: (row: Plain, state: Plain) => readonly [Plain, Plain, Plain],
  data: Plain,
  init: Plain,
  first: Plain,
  isEach: boolean,
): [Plain, Plain] {
  // prettier-ignore
  if (assumed !== null && data.shape[0] === 0) throw new Undecided('a list that nothing is pushed to');
  const rows = [first];
  let state = init;
  for (const row of rowsOf(data)) {
    const [value, flag, next] = step(row, state);
    state = next;
    if (isTrue(flag.data[0])) rows.push(...(isEach ? rowsOf(value) : [value]));
  }
  return [stacked(rows), state];
}
