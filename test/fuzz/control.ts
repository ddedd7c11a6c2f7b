import { flattenTree } from '../../src/base/attributes/tree.js';
import * as kn from '../../src/index.js';
import { copy } from '../../src/ops/index.js';
import type { Nesting, Region, Step } from './program.js';
import { type Iterate, pushAsConverted, pushByHand } from './pushes.js';

/*
 * Control flow by the functions that users call, and once more by hand: loops and branches of JavaScript
 * that know nothing of them.
 */

/** What a region has given. */
export interface Given {
  readonly outputs: readonly kn.NDArray[];
  readonly states: readonly kn.NDArray[];
}

/** Runs a region on arrays. A region that is only tried draws no numbers and writes no state. */
export type Enter = (region: Region, given: readonly kn.NDArray[], isTrial?: boolean) => Given;

/** One way of control flow: the results of a step, given its arguments. */
export type Control = (step: Step, args: readonly unknown[], enter: Enter) => readonly kn.NDArray[];

type Arrays = readonly kn.NDArray[];

interface LoopOptions {
  readonly save?: 'all' | 'none' | 'auto';
  readonly maxIterations?: number;
  readonly padded?: boolean;
  readonly reverse?: boolean;
}

interface PushOptions {
  readonly isEach: boolean;
}

const isArray = (value: unknown): value is kn.NDArray => value instanceof kn.NDArray;

function leavesOf(tree: unknown): kn.NDArray[] {
  return [...flattenTree(tree, isArray).leaves];
}

/** Arrays as users nest them. */
function nest(nesting: Nesting, arrays: Arrays): object {
  if (arrays.length === 0 || nesting === 'list') return [...arrays];
  if (nesting === 'bare') return arrays.length === 1 ? arrays[0] : [...arrays];
  if (nesting === 'record') return Object.fromEntries(arrays.map((array, i) => [`a${i}`, array]));
  return { first: arrays[0], rest: [arrays.slice(1, 2), { more: arrays.slice(2) }] };
}

/** The same, with the entries of an object in another order: it is the keys that count. */
function nestBackwards(nesting: Nesting, arrays: Arrays): object {
  const tree = nest(nesting, arrays);
  if (nesting !== 'record' || Array.isArray(tree)) return tree;
  return Object.fromEntries(Object.entries(tree).reverse());
}

/** As users write it. */
export const byFunctions: Control = ({ op, regions = [], nesting = 'list' }, args, enter) => {
  const [body, other] = regions;
  if (op === 'foreach') {
    const [data, states, options] = args as [Arrays, Arrays, LoopOptions];
    const results = kn.foreach(
      (slice: object, before: object) => {
        const given = enter(body, [...leavesOf(slice), ...leavesOf(before)]);
        return [nest(nesting, given.outputs), nestBackwards(nesting, given.states)];
      },
      nest(nesting, data),
      nest(nesting, states),
      options,
    );
    return leavesOf(results);
  }
  if (op === 'whileLoop') {
    const [states, options] = args as [Arrays, LoopOptions];
    const vars = nest(nesting, states);
    const back = (given: Given): [object, never] => [
      nest(nesting, given.outputs),
      nestBackwards(nesting, given.states) as never,
    ];
    const results = kn.whileLoop(
      (...before: unknown[]) => enter(other, leavesOf(before)).outputs[0],
      (...before: unknown[]) => back(enter(body, leavesOf(before))),
      vars as unknown[],
      options,
    );
    return leavesOf(results);
  }
  if (op === 'push') {
    const [[data], states, [first], { isEach }] = args as [Arrays, Arrays, Arrays, PushOptions];
    const iterate: Iterate = (row, before) => enter(body, [row, ...before]);
    return pushAsConverted({ data, states, first, isEach, iterate });
  }
  const [predicate] = args as [kn.NDArray | null];
  const branch = (region: Region) => (): object => nest(nesting, enter(region, []).outputs);
  const decides = predicate ?? (() => enter(regions[2], []).outputs[0]);
  return leavesOf(kn.cond(decides, branch(body), branch(other)));
};

/** As users would have to write it. */
export const byHand: Control = ({ op, regions = [] }, args, enter) => {
  const [body, other] = regions;
  if (op === 'foreach') {
    const [data, init, { reverse = false }] = args as [Arrays, Arrays, LoopOptions];
    const [length] = data[0].shape;
    const rows: Arrays[] = [];
    let states = init;
    for (let k = 0; k < length; k++) {
      const i = reverse ? length - 1 - k : k;
      const given = enter(body, [...data.map((x) => x.slice(i)), ...states]);
      rows.push(kept(given.outputs));
      states = kept(given.states);
    }
    if (reverse) rows.reverse();
    const slices = data.map(({ shape, dtype }) => kn.zeros(shape.slice(1), { dtype }));
    return [...stacked(rows, body, [...slices, ...init], enter, length), ...states];
  }
  if (op === 'whileLoop') {
    const [init, { maxIterations = Infinity, padded = false }] = args as [Arrays, LoopOptions];
    const rows: Arrays[] = [];
    let states = init;
    while (rows.length < maxIterations && isTrue(enter(other, states).outputs[0])) {
      const given = enter(body, states);
      rows.push(kept(given.outputs));
      states = kept(given.states);
    }
    const wanted = padded ? maxIterations : rows.length;
    const count = kn.array(rows.length, { dtype: 'int32' });
    return [...stacked(rows, body, init, enter, wanted), ...states, count];
  }
  if (op === 'push') {
    const [[data], states, [first], { isEach }] = args as [Arrays, Arrays, Arrays, PushOptions];
    const iterate: Iterate = (row, before) => {
      const given = enter(body, [row, ...before]);
      return { outputs: kept(given.outputs), states: kept(given.states) };
    };
    return pushByHand({ data, states, first, isEach, iterate });
  }
  const [predicate] = args as [kn.NDArray | null];
  const holds = predicate ?? enter(regions[2], []).outputs[0];
  return kept(enter(isTrue(holds) ? body : other, []).outputs);
};

/** Values as they are now: what is assigned to later does not change them. */
function kept(arrays: Arrays): Arrays {
  return arrays.map((array) => copy(array));
}

function isTrue(predicate: kn.NDArray): boolean {
  return predicate.dataSync()[0] !== 0;
}

/** The rows along a first axis, zeros behind them. */
function stacked(
  rows: readonly Arrays[],
  body: Region,
  trial: Arrays,
  enter: Enter,
  wanted: number,
): kn.NDArray[] {
  const padding = (like: kn.NDArray): kn.NDArray =>
    kn.zeros([wanted - rows.length, ...like.shape], { dtype: like.dtype });
  if (rows.length === 0) {
    if (body.decides === true) throw new kn.ShapeError('no iteration decides', { op: 'byHand' });
    return kn.autograd.pause(() => enter(body, trial, true)).outputs.map(padding);
  }
  return rows[0].map((first, k) => {
    const all = kn.stack(rows.map((row) => row[k]));
    return wanted === rows.length ? all : kn.concat([all, padding(first)]);
  });
}
