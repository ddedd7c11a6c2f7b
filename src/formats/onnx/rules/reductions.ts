import type { Dim } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import { integerRange, isSigned } from '../../../base/numbers.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportRule } from '../node.js';
import { rule, type ImportRules } from './rule.js';

type Reduce = (x: Value, axes: readonly number[] | null, keepdims: boolean) => Value;

/** Axes are attributes in older opsets and operands in newer ones; the result keeps the dtype. */
function reduction(reduce: Reduce, alone: (x: Value) => Value = (x) => x): ImportRule {
  return rule((node) => {
    const x = node.value(0);
    const given = node.intsFrom('axes', 1, null);
    const axes = given !== null && given.length > 0 ? given : null;
    if (axes === null && node.attributes.flag('noop_with_empty_axes')) return alone(x);
    return ops.cast(reduce(x, axes, node.attributes.flag('keepdims', true)), x.type.dtype);
  });
}

const wide = (x: Value): Value => (isFloat(x.type.dtype) ? x : ops.cast(x, 'float64'));

const sum: Reduce = (x, axes, keepdims) => ops.sum(x, axes, { keepdims });
const sumOfSquares: Reduce = (x, axes, keepdims) => sum(ops.square(x), axes, keepdims);

/** Index of the first extremum; with `select_last_index` of the last one. */
function position(find: (x: Value, axis: number) => Value): ImportRule {
  return rule((node) => {
    const x = node.value(0);
    const axis = node.axis(node.attributes.int('axis', 0), x.type.shape.length);
    const isLast = node.attributes.flag('select_last_index');
    const found = find(isLast ? ops.flip(x, axis) : x, axis);
    const length = ops.dimLike(found, x.type.shape[axis]);
    const places = isLast ? ops.sub(ops.sub(length, 1), found) : found;
    return node.attributes.flag('keepdims', true) ? places : ops.squeeze(places, axis);
  });
}

interface Running {
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

function running(scan: (x: Value, axis: number, options: Running) => Value): ImportRule {
  return rule((node) => {
    const x = node.value(0);
    const axis = node.axis(node.number(1), x.type.shape.length);
    const exclusive = node.attributes.flag('exclusive');
    const reverse = node.attributes.flag('reverse');
    return ops.cast(scan(x, axis, { exclusive, reverse }), x.type.dtype);
  });
}

export const reductions: ImportRules = {
  ReduceSum: reduction(sum),
  ReduceProd: reduction((x, axes, keepdims) => ops.prod(x, axes, { keepdims })),
  ReduceMean: reduction((x, axes, keepdims) => ops.mean(x, axes, { keepdims })),
  ReduceMax: reduction((x, axes, keepdims) =>
    extreme(x, axes, keepdims, (y) => ops.max(y, axes, { keepdims }), ops.any),
  ),
  ReduceMin: reduction((x, axes, keepdims) =>
    extreme(x, axes, keepdims, (y) => ops.min(y, axes, { keepdims }), ops.all),
  ),
  ReduceL1: reduction(
    (x, axes, keepdims) => sum(ops.abs(x), axes, keepdims),
    (x) => ops.abs(x),
  ),
  ReduceL2: reduction(
    (x, axes, keepdims) => ops.sqrt(sumOfSquares(wide(x), axes, keepdims)),
    (x) => ops.abs(x),
  ),
  ReduceSumSquare: reduction(sumOfSquares, (x) => ops.square(x)),
  ReduceLogSum: reduction(
    (x, axes, keepdims) => ops.log(sum(wide(x), axes, keepdims)),
    (x) => ops.log(x),
  ),
  ReduceLogSumExp: reduction((x, axes, keepdims) => ops.logsumexp(wide(x), axes, { keepdims })),
  ArgMax: position((x, axis) => ops.argmax(x, axis, { keepdims: true })),
  ArgMin: position((x, axis) => ops.argmin(x, axis, { keepdims: true })),
  CumSum: running((x, axis, options) => ops.cumsum(x, axis, options)),
  CumProd: running((x, axis, options) => ops.cumprod(x, axis, options)),
};

/** The extremum of booleans is any or all. */
function extreme(
  x: Value,
  axes: readonly number[] | null,
  keepdims: boolean,
  ofNumbers: (x: Value) => Value,
  ofTruths: typeof ops.any | typeof ops.all,
): Value {
  if (x.type.dtype === 'bool') return ofTruths(x, axes, { keepdims });
  const { shape } = x.type;
  const reduced =
    axes?.map((axis) => (axis < 0 ? axis + shape.length : axis)) ?? shape.map((_, axis) => axis);
  if (!reduced.some((axis) => shape[axis] === 0)) return ofNumbers(x);
  // The extremum of no elements is the neutral one.
  const left = shape.flatMap((dim, axis) =>
    reduced.includes(axis) ? (keepdims ? [1] : []) : [dim],
  );
  return neutral(x, ofTruths === ops.any, left);
}

/** The least number of a dtype, or the greatest. */
function neutral(like: Value, isLeast: boolean, shape: readonly Dim[]): Value {
  const range = integerRange(like.type.dtype);
  if (range === null) return ops.fullLike(like, isLeast ? -Infinity : Infinity, { shape });
  const least = ops.fullLike(like, Number(range[0]), { shape });
  if (isLeast) return least;
  // The greatest int64 is not a JavaScript number; it is the complement of the least one.
  return isSigned(like.type.dtype)
    ? ops.bitwiseNot(least)
    : ops.fullLike(like, Number(range[1]), { shape });
}
