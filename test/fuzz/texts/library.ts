import * as n from './duals.js';
import { Misfit, binary, broadcastShape, compare, indices, type Input, plain, type Plain, type PlainDType, reader, rowsOf, scalar, stacked, stackedOr, unary, zerosOf } from './plain.js'; // prettier-ignore
import { cond, foreach, positionsIn, push, Undecided, whileLoop } from './plain-flow.js';

/** Sums along an axis, or of everything. */
function sum(x: Plain, axis?: number): Plain {
  if (axis === undefined) return plain(x.dtype, [], [x.data.reduce(n.add, 0)]);
  if (axis === 0) return rowsOf(x).reduce((a, b) => binary(n.add)(a, b), zerosOf(x.dtype, x.shape.slice(1))); // prettier-ignore
  return stackedOr(rowsOf(x).map((row) => sum(row, axis - 1)), { dtype: x.dtype, shape: x.shape.filter((_, k) => k > 0 && k !== axis) }); // prettier-ignore
}

/** The larger number; where both are equal but their derivatives are not, there is no derivative. */
function larger(x: n.Num, y: n.Num): n.Num {
  const [a, b] = [n.valueOf(x), n.valueOf(y)];
  if (a === b && JSON.stringify(x) !== JSON.stringify(y)) throw new Undecided('a tie');
  return b > a ? y : x;
}

/** Positions of the elements of a list in ascending order; of equal ones the earlier first. */
function order(data: readonly n.Num[]): number[] {
  return [...data.keys()].sort((i, j) => n.valueOf(data[i]) - n.valueOf(data[j]) || i - j);
}

/** Along the last axis of an array of rank 1. */
function running(f: (x: n.Num, y: n.Num) => n.Num): (x: Plain, axis: number) => Plain {
  return ({ dtype, shape, data }) => {
    const done: n.Num[] = [];
    for (const each of data) done.push(done.length === 0 ? each : f(done.at(-1)!, each));
    return plain(dtype, shape, done);
  };
}

type Range = readonly [start: number | null, stop: number | null, step?: number];

/** A range of rows. */
function slice(x: Plain, [start, stop, step = 1]: Range): Plain {
  const count = x.shape[0];
  const bound = (at: number | null, low: number, high: number, missing: number): number =>
    at === null ? missing : Math.min(high, Math.max(low, at < 0 ? at + count : at));
  const rows = rowsOf(x);
  const taken: Plain[] = [];
  if (step > 0) for (let i = bound(start, 0, count, 0); i < bound(stop, 0, count, count); i += step) taken.push(rows[i]); // prettier-ignore
  else for (let i = bound(start, -1, count - 1, count - 1); i > bound(stop, -1, count - 1, -1); i += step) taken.push(rows[i]); // prettier-ignore
  return stacked(taken, { dtype: x.dtype, shape: x.shape.slice(1) });
}

/** Where a block of rows begins, moved until it lies within an array. */
function blockStart(x: Plain, start: Input, size: number): number {
  const at = n.valueOf(scalar(start).data[0]);
  return Math.min(Math.max(at < 0 ? at + x.shape[0] : at, 0), x.shape[0] - size);
}

function take(x: Plain, at: Plain): Plain {
  const rows = rowsOf(x);
  const taken = at.data.map((i) => {
    const row = rows[n.valueOf(i)];
    if (row === undefined) throw new Misfit(`row ${n.valueOf(i)} of ${rows.length}`);
    return row;
  });
  const like = { dtype: x.dtype, shape: x.shape.slice(1) };
  return at.shape.length === 0 ? taken[0] : stacked(taken, like);
}

type Differentiated = (...args: readonly Plain[]) => Plain;

/** Value and gradient by the first argument: one run for each of its elements. */
function valueAndGrad(f: Differentiated): (...args: readonly Plain[]) => [Plain, Plain] {
  return (x, ...rest) => {
    const slopes = x.data.map((_, i) => {
      const tag = n.newTag();
      const data = x.data.map((each, k) => (k === i ? new n.Dual(tag, each, 1) : each));
      return n.slopeOf(f({ ...x, data }, ...rest).data[0], tag);
    });
    return [f(x, ...rest), plain('float64', x.shape, slopes)];
  };
}

/** The functions by the names that the library has for them. */
export const library: Readonly<Record<string, unknown>> = {
  add: binary(n.add),
  sub: binary(n.sub),
  mul: binary(n.mul),
  div: binary((x, y) => n.mul(x, n.reciprocal(y))),
  mod: binary((x, y) => ((n.valueOf(x) % n.valueOf(y)) + n.valueOf(y)) % n.valueOf(y)),
  greater: compare((x, y) => x > y),
  less: compare((x, y) => x < y),
  logicalAnd: binary((x, y) => Number(x !== 0 && y !== 0), 'bool'),
  logicalNot: unary((x) => Number(x === 0)),
  exp: unary(n.exp),
  tanh: unary(n.tanh),
  sin: unary(n.sin),
  sigmoid: unary(n.sigmoid),
  square: unary((x) => n.mul(x, x)),
  detach: unary(n.valueOf),
  astype: ({ shape, data }: Plain, dtype: PlainDType) => plain(dtype, shape, data.map((x) => (dtype === 'bool' ? Number(n.valueOf(x) !== 0) : dtype === 'float64' ? x : Math.trunc(n.valueOf(x))))), // prettier-ignore
  where: (mask: Plain, x: Input, y: Input) => {
    const [a, b] = [scalar(x), scalar(y)];
    const shape = broadcastShape(mask.shape, a.shape, b.shape);
    const [m, readA, readB] = [mask, a, b].map((one) => reader(one, shape));
    return plain(a.dtype, shape, [...indices(shape)].map((i) => (n.valueOf(m(i)) !== 0 ? readA(i) : readB(i)))); // prettier-ignore
  },
  sum,
  mean: (x: Plain) => plain('float64', [], [n.mul(1 / x.data.length, x.data.reduce(n.add, 0))]),
  prod: (x: Plain) => plain(x.dtype, [], [x.data.reduce(n.mul, 1)]),
  any: (x: Plain) => plain('bool', [], [Number(x.data.some((each) => n.valueOf(each) !== 0))]),
  cumsum: running(n.add),
  cumprod: running(n.mul),
  cummax: running(larger),
  maximum: binary(larger),
  softmax: (x: Plain) => {
    const powers = x.data.map(n.exp);
    const total = n.reciprocal(powers.reduce(n.add, 0));
    return plain(
      x.dtype,
      x.shape,
      powers.map((each) => n.mul(each, total)),
    );
  },
  dynamicSlice: (x: Plain, start: Input, [size]: readonly number[]) => {
    const at = blockStart(x, start, size);
    return slice(x, [at, at + size]);
  },
  updateSlice: (x: Plain, update: Plain, start: Input) => {
    const at = blockStart(x, start, update.shape[0]);
    const rows = rowsOf(x);
    return stacked([...rows.slice(0, at), ...rowsOf(update), ...rows.slice(at + update.shape[0])]);
  },
  sort: (x: Plain) =>
    plain(
      x.dtype,
      x.shape,
      order(x.data).map((i) => x.data[i]),
    ),
  argsort: (x: Plain) => plain('int64', x.shape, order(x.data)),
  booleanMask: (x: Plain, mask: Plain) => {
    const rows = rowsOf(x);
    const kept = positionsIn(mask).map((i) => rows[i]);
    return stacked(kept, { dtype: x.dtype, shape: x.shape.slice(1) });
  },
  nonzero: (mask: Plain) => {
    const found = positionsIn(mask);
    return plain('int64', [found.length, 1], found);
  },
  // The shape that is asked for is always `[-1]`.
  reshape: ({ dtype, data }: Plain) => plain(dtype, [data.length], data),
  flatten: (x: Plain) => plain(x.dtype, [x.data.length], x.data),
  expandDims: (x: Plain, axis: number) => plain(x.dtype, [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)], x.data), // prettier-ignore
  concat: (list: readonly Plain[]) => stacked(list.flatMap(rowsOf), { dtype: list[0].dtype, shape: list[0].shape.slice(1) }), // prettier-ignore
  stack: (list: readonly Plain[]) => stacked(list),
  slice,
  take,
  scatterAdd: (x: Plain, at: Plain, updates: Plain) => {
    const data = [...x.data];
    at.data.forEach((i, k) => (data[n.valueOf(i)] = n.add(data[n.valueOf(i)], updates.data[k])));
    return plain(x.dtype, x.shape, data);
  },
  matmul: (x: Plain, y: Plain) => stackedOr(rowsOf(x).map((row) => sum(binary(n.mul)(row, y))), { dtype: 'float64', shape: [] }), // prettier-ignore
  zerosLike: ({ dtype, shape }: Plain) => zerosOf(dtype, shape),
  array: (value: number, { dtype }: { dtype: PlainDType }) => plain(dtype, [], [Number(value)]),
  foreach,
  whileLoop,
  cond,
  push,
  checkpoint: (fn: unknown) => fn,
  hybridize: (fn: unknown) => fn,
  valueAndGrad,
  grad:
    (f: Differentiated) =>
    (...args: readonly Plain[]) =>
      valueAndGrad(f)(...args)[1],
};
