import type { DType } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import type {
  BinaryExpr,
  CastExpr,
  Expr,
  Scalar,
  UnaryExpr,
} from '../../../loop/language/nodes.js';
import { formOf } from '../../../ops/elementwise/known.js';
import { type HloValue, sameNumbers, upTo } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';

/** Dtypes in which expressions are computed. */
export const computeDType: Readonly<Record<Scalar, 'float32' | 'float64' | 'int32' | 'int64' | 'bool'>> = {
  f32: 'float32',
  f64: 'float64',
  i32: 'int32',
  i64: 'int64',
  bool: 'bool',
}; // prettier-ignore

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
  readonly #space: readonly number[];
  readonly #meaning: (variable: Expr) => HloSpread;
  readonly #done: Map<Expr, HloSpread> = new Map();

  constructor(hlo: HloWriter, space: readonly number[], meaning: (variable: Expr) => HloSpread) {
    this.#hlo = hlo;
    this.#space = space;
    this.#meaning = meaning;
  }

  /** The expression along the axes on which it depends. */
  write(expr: Expr): HloSpread {
    let written = this.#done.get(expr);
    if (written === undefined) this.#done.set(expr, (written = this.#new(expr)));
    return written;
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

  #new(expr: Expr): HloSpread {
    const form = formOf(expr);
    if (typeof form === 'function') return this.write(form());
    if (form !== undefined) {
      return this.#of(form.operands, (parts) => knownFunction(this.#hlo, form.onnx, parts));
    }
    switch (expr.kind) {
      case 'const':
        return { value: this.#hlo.splat(computeDType[expr.type.scalar], expr.value), axes: [] };
      case 'var':
        return this.#meaning(expr);
      case 'unary':
        return this.#of([expr.x], ([x]) => unary(this.#hlo, expr, x));
      case 'binary':
        return this.#of([expr.a, expr.b], ([a, b]) => binary(this.#hlo, expr, a, b));
      case 'select':
        return this.#of([expr.condition, expr.a, expr.b], (parts) =>
          this.#hlo.map('select', parts, parts[1].dtype),
        );
      case 'cast':
        return this.#of([expr.x], ([x]) => converted(this.#hlo, expr, x));
      case 'bitcast':
        return this.#of([expr.x], ([x]) =>
          this.#hlo.map('bitcast_convert', [x], computeDType[expr.type.scalar]),
        );
      default:
        throw new InternalError(`an element is computed with ${expr.kind}`);
    }
  }

  #of(parts: readonly Expr[], combine: (values: readonly HloValue[]) => HloValue): HloSpread {
    const written = parts.map((part) => this.write(part));
    const axes = [...new Set(written.flatMap((part) => part.axes))].sort((a, b) => a - b);
    return { value: combine(written.map((part) => this.along(part, axes))), axes };
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
  const to = computeDType[expr.type.scalar];
  const { scalar } = expr.x.type;
  if (to === 'bool') return hlo.compare('NE', x, hlo.splat(x.dtype, 0, x.shape));
  const isToInteger = to === 'int32' || to === 'int64';
  if ((scalar !== 'f32' && scalar !== 'f64') || !isToInteger) return hlo.convert(x, to);
  return saturated(hlo, x, to);
}

/** Floats as integers: truncated, at most the ends of the range, NaN as 0. */
export function saturated(hlo: HloWriter, x: HloValue, to: 'int32' | 'int64'): HloValue {
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
