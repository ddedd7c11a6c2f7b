import * as n from './duals.js';

/*
 * Arrays as lists of numbers that carry derivatives. Nothing here knows the library.
 */

export type PlainDType = 'float64' | 'int32' | 'int64' | 'bool';

/** An array whose elements are in row-major order. Truth values are 0 and 1. */
export interface Plain {
  readonly dtype: PlainDType;
  readonly shape: readonly number[];
  readonly data: readonly n.Num[];
}

export type Input = Plain | number;

/** Arrays do not fit a call. */
export class Misfit extends Error {}

export function plain(dtype: PlainDType, shape: readonly number[], data: readonly n.Num[]): Plain {
  const size = shape.reduce((a, b) => a * b, 1);
  if (data.length !== size) throw new Misfit(`${data.length} elements for [${shape.join()}]`);
  return { dtype, shape, data };
}

export function scalar(x: Input): Plain {
  return typeof x === 'number' ? plain('float64', [], [x]) : x;
}

/** The element of an array that is read at each index of a shape it broadcasts to. */
export function reader(
  { shape, data }: Plain,
  to: readonly number[],
): (index: readonly number[]) => n.Num {
  const lead = to.length - shape.length;
  return (index) => {
    let at = 0;
    shape.forEach((size, axis) => (at = at * size + (size === 1 ? 0 : index[lead + axis])));
    return data[at];
  };
}

export function broadcastShape(...shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1);
    const size = sizes.find((one) => one !== 1) ?? 1;
    if (sizes.some((one) => one !== 1 && one !== size)) throw new Misfit(`sizes ${sizes.join()} do not meet`); // prettier-ignore
    return size;
  });
}

export function* indices(shape: readonly number[]): Generator<readonly number[]> {
  const size = shape.reduce((a, b) => a * b, 1);
  for (let flat = 0; flat < size; flat++) {
    let left = flat;
    const index = shape.map(() => 0);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis] = left % shape[axis];
      left = Math.floor(left / shape[axis]);
    }
    yield index;
  }
}

type Pointwise = (x: Input, y: Input) => Plain;

export function binary(f: (x: n.Num, y: n.Num) => n.Num, dtype?: PlainDType): Pointwise {
  return (x, y) => {
    const [a, b] = [scalar(x), scalar(y)];
    const shape = broadcastShape(a.shape, b.shape);
    const [readA, readB] = [reader(a, shape), reader(b, shape)];
    const data = [...indices(shape)].map((index) => f(readA(index), readB(index)));
    const own = typeof x === 'number' ? b.dtype : typeof y === 'number' ? a.dtype : a.dtype === 'float64' ? a.dtype : b.dtype; // prettier-ignore
    return plain(dtype ?? own, shape, data);
  };
}

export function compare(f: (x: number, y: number) => boolean): Pointwise {
  return binary((x, y) => Number(f(n.valueOf(x), n.valueOf(y))), 'bool');
}

export function unary(f: (x: n.Num) => n.Num): (x: Plain) => Plain {
  return ({ dtype, shape, data }) => plain(dtype, shape, data.map(f));
}

/** The rows of an array: what the first axis counts. */
export function rowsOf({ dtype, shape: [count, ...rest], data }: Plain): Plain[] {
  const size = rest.reduce((a, b) => a * b, 1);
  return Array.from({ length: count }, (_, i) => plain(dtype, rest, data.slice(i * size, (i + 1) * size))); // prettier-ignore
}

export function stacked(
  rows: readonly Plain[],
  like: { dtype: PlainDType; shape: readonly number[] } = rows[0],
): Plain {
  // prettier-ignore
  if (rows.some(({ shape }) => shape.join() !== like.shape.join())) throw new Misfit('rows of different sizes'); // prettier-ignore
  return plain(
    like.dtype,
    [rows.length, ...like.shape],
    rows.flatMap(({ data }) => data),
  );
}

export function zerosOf(dtype: PlainDType, shape: readonly number[]): Plain {
  return plain(
    dtype,
    shape,
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => 0),
  );
}

export function stackedOr(
  rows: readonly Plain[],
  like: { dtype: PlainDType; shape: readonly number[] },
): Plain {
  // prettier-ignore
  return stacked(rows, rows[0] ?? like);
}
