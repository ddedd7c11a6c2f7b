import type { DType } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';

/** Real numbers, or vectors of them: of the reader, or of a run. Truth is 1 and falsehood 0. */
export interface Reals<T> {
  number(value: number): T;
  add(a: T, b: T): T;
  sub(a: T, b: T): T;
  mul(a: T, b: T): T;
  div(a: T, b: T): T;
  floor(a: T): T;
  abs(a: T): T;
  less(a: T, b: T): T;
  /** `a` where a condition holds, `b` elsewhere. */
  select(condition: T, a: T, b: T): T;
}

/** One number, or one for each position. */
export type KnownReal = number | readonly number[];

function each(f: (...numbers: number[]) => number): (...reals: KnownReal[]) => KnownReal {
  return (...reals) => {
    const length = reals.find((real) => typeof real !== 'number')?.length;
    if (length === undefined) return f(...(reals as number[]));
    return Array.from({ length }, (_, i) => f(...reals.map((real) => (typeof real === 'number' ? real : real[i])))); // prettier-ignore
  };
}

/** Numbers that the reader computes. */
export const knownReals: Reals<KnownReal> = {
  number: (value) => value,
  add: each((a, b) => a + b),
  sub: each((a, b) => a - b),
  mul: each((a, b) => a * b),
  div: each((a, b) => a / b),
  floor: each(Math.floor),
  abs: each(Math.abs),
  less: each((a, b) => Number(a < b)),
  select: each((condition, a, b) => (condition === 0 ? b : a)),
};

const dtype: DType = 'float64';

/** Numbers that a run computes, as float64. */
export function computedReals(node: ImportedNode): Reals<Value> {
  return {
    number: (value) => node.scalar(value, dtype),
    add: (a, b) => ops.add(a, b),
    sub: (a, b) => ops.sub(a, b),
    mul: (a, b) => ops.mul(a, b),
    div: (a, b) => ops.div(a, b),
    floor: (a) => ops.floor(a),
    abs: (a) => ops.abs(a),
    less: (a, b) => ops.cast(ops.less(a, b), dtype),
    select: (condition, a, b) => ops.where(ops.notEqual(condition, 0), a, b),
  };
}
