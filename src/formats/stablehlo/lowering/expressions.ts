import type { DType } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import type { Shape } from '../../../ir/types.js';
import type { BinaryExpr, CastExpr, Expr, UnaryExpr } from '../../../loop/language/nodes.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { ExpressionWriter } from '../../expressions.js';
import { type HloValue, sameNumbers, upTo } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';

/** A subexpression for all elements together, and the axes of the result along which it varies, ascending. */
export interface HloSpread {
  readonly value: HloValue;
  readonly axes: readonly number[];
}

/**
 * Writes loop IR expressions of one element as operations on all elements of a result of shape `space`. Parts that
 * vary along fewer axes are computed along these only.
 */
export class HloExpressions {
  readonly #hlo: HloWriter;
  readonly #space: Shape;
  readonly #writer: ExpressionWriter<HloValue, HloSpread>;

  constructor(hlo: HloWriter, space: Shape, meaning: (variable: Expr) => HloSpread) {
    this.#hlo = hlo;
    this.#space = space;
    this.#writer = new ExpressionWriter<HloValue, HloSpread>({
      constant: ({ type, value }) => ({
        value: hlo.splat(scalarDTypes[type.scalar], value),
        axes: [],
      }),
      variable: meaning,
      combine: (parts, compute) => this.#combine(parts, compute),
      known: (name, values) => knownFunction(hlo, name, values),
      unary: (expr, x) => unary(hlo, expr, x),
      binary: (expr, a, b) => binary(hlo, expr, a, b),
      select: (condition, a, b) => hlo.map('select', [condition, a, b], a.dtype),
      cast: (expr, x) => converted(hlo, expr, x),
      bitcast: ({ x, type }, write) =>
        this.#combine([write(x)], (values) =>
          hlo.map('bitcast_convert', values, scalarDTypes[type.scalar]),
        ),
    });
  }

  /** The expression along the axes on which it depends. */
  write(expr: Expr): HloSpread {
    return this.#writer.write(expr);
  }

  /** The expression along all axes. */
  whole(expr: Expr): HloValue {
    return this.along(this.write(expr), upTo(this.#space.length));
  }

  /** A subexpression along more axes. */
  along({ value, axes }: HloSpread, wanted: readonly number[]): HloValue {
    if (sameNumbers(axes, wanted)) return value;
    const shape = wanted.map((axis) => this.#space[axis]);
    return this.#hlo.broadcast(value, shape, axes.map((axis) => wanted.indexOf(axis))); // prettier-ignore
  }

  #combine(
    parts: readonly HloSpread[],
    compute: (values: readonly HloValue[]) => HloValue,
  ): HloSpread {
    const axes = [...new Set(parts.flatMap((part) => part.axes))].sort((a, b) => a - b);
    return { value: compute(parts.map((part) => this.along(part, axes))), axes };
  }
}

/** Functions that expressions are known as (`ops/elementwise/known.ts`), as operations. */
function knownFunction(hlo: HloWriter, name: string, parts: readonly HloValue[]): HloValue {
  const [x] = parts;
  switch (name) {
    case 'Exp':
      return hlo.map('exponential', parts);
    case 'Log':
      return hlo.map('log', parts);
    case 'Pow':
      return hlo.map('power', parts);
    case 'Sigmoid':
      return hlo.map('logistic', parts);
    case 'Atan':
      return hlo.map('atan2', [x, hlo.splat(x.dtype, 1, x.shape)]);
    case 'Softplus': {
      const decay = hlo.map('exponential', [hlo.map('negate', [hlo.map('abs', [x])])]);
      const above = hlo.map('maximum', [x, hlo.splat(x.dtype, 0, x.shape)]);
      return hlo.map('add', [above, hlo.map('log_plus_one', [decay])]);
    }
    default:
      throw new InternalError(`an expression is known as ${name}, which StableHLO lacks`);
  }
}

function unary(hlo: HloWriter, { op }: UnaryExpr, x: HloValue): HloValue {
  switch (op) {
    case 'neg':
      return hlo.map('negate', [x]);
    case 'abs':
    case 'sqrt':
    case 'floor':
    case 'ceil':
      return hlo.map(op, [x]);
    case 'nearest':
      return hlo.map('round_nearest_even', [x]);
    case 'trunc': {
      const isNegative = hlo.compare('LT', x, hlo.splat(x.dtype, 0, x.shape));
      return hlo.map('select', [isNegative, hlo.map('ceil', [x]), hlo.map('floor', [x])], x.dtype);
    }
    case 'not':
      return hlo.map('not', [x]);
  }
}

const directions = { eq: 'EQ', ne: 'NE', lt: 'LT', le: 'LE', gt: 'GT', ge: 'GE' } as const;
const arithmetic = {
  add: 'add',
  sub: 'subtract',
  mul: 'multiply',
  div: 'divide',
  rem: 'remainder',
  min: 'minimum',
  max: 'maximum',
  and: 'and',
  or: 'or',
  xor: 'xor',
} as const;
const shifts = { shl: 'shift_left', shr: 'shift_right_arithmetic', shrU: 'shift_right_logical' } as const; // prettier-ignore

function binary(
  hlo: HloWriter,
  { op, type, b: count }: BinaryExpr,
  a: HloValue,
  b: HloValue,
): HloValue {
  // prettier-ignore
  if (op in directions) return hlo.compare(directions[op as keyof typeof directions], a, b);
  if (op in arithmetic) return hlo.map(arithmetic[op as keyof typeof arithmetic], [a, b]);
  // Counts are modulo the width here; StableHLO shifts everything out.
  const width = type.scalar === 'i64' ? 64 : 32;
  const isWithin = count.kind === 'const' && count.value >= 0 && count.value < width;
  const by = isWithin ? b : hlo.map('and', [b, hlo.splat(b.dtype, width - 1, b.shape)]);
  return hlo.map(shifts[op as keyof typeof shifts], [a, by]);
}

/** Conversion of floats to integers by saturating truncation, with NaN as 0; StableHLO leaves that open. */
function converted(hlo: HloWriter, expr: CastExpr, x: HloValue): HloValue {
  const to = scalarDTypes[expr.type.scalar];
  const { scalar } = expr.x.type;
  if (to === 'bool') return hlo.compare('NE', x, hlo.splat(x.dtype, 0, x.shape));
  const isToInteger = to === 'int32' || to === 'int64';
  if ((scalar !== 'f32' && scalar !== 'f64') || !isToInteger) return hlo.convert(x, to);
  return saturated(hlo, x, to);
}

/** Floats as integers: truncated, at most the ends of the range, NaN as 0. */
function saturated(hlo: HloWriter, x: HloValue, to: 'int32' | 'int64'): HloValue {
  const splat = (dtype: DType, value: number | bigint): HloValue =>
    hlo.splat(dtype, value, x.shape);
  const end = to === 'int32' ? 2 ** 31 : 2 ** 63;
  const isExact = x.dtype === 'float64' && to === 'int32';
  // The greatest float below the end.
  const most = isExact ? end - 1 : end * (1 - (x.dtype === 'float64' ? 2 ** -53 : 2 ** -24));
  const inside = hlo.map('clamp', [splat(x.dtype, -end), x, splat(x.dtype, most)]);
  const whole = hlo.convert(inside, to);
  const greatest = to === 'int32' ? 2 ** 31 - 1 : 2n ** 63n - 1n;
  const capped = isExact
    ? whole
    : hlo.map(
        'select',
        [hlo.compare('GE', x, splat(x.dtype, end)), splat(to, greatest), whole],
        to,
      );
  return hlo.map('select', [hlo.compare('NE', x, x), splat(to, 0), capped], to);
}
