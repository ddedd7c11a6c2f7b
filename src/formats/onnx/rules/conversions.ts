import { bytesOf, type DType, isFloat, viewOf } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import { type ElementType, greatestOf, type NarrowFloat } from '../elements.js';
import type { ImportedNode } from '../node.js';
import { TensorOperand } from '../operand.js';
import { elementFor } from '../tensor.js';
import { unsignedToFloat, wrappedInteger } from './carriers.js';
import { anyElement, type ImportRules } from './rule.js';

export interface ConversionOptions {
  /** Clamp out-of-range numbers to the greatest value of a narrow float. Default true. */
  readonly saturate?: boolean;
  /** Rounding mode for powers of two. */
  readonly powers?: string;
}

/** Casts elements to another type. */
export function converted(
  x: Value,
  from: ElementType,
  to: ElementType,
  options: ConversionOptions = {},
): Value {
  if (from === to) return x;
  if (to.narrow !== undefined) {
    const wide = toDType(x, from, 'float32');
    return to.narrow.special === 'power'
      ? roundedPower(wide, options.powers ?? 'up')
      : roundedNarrow(wide, to.narrow, options.saturate ?? true);
  }
  if (to.isOwn) return toDType(x, from, to.carrier);
  // By way of an integer that holds every value, which keeps the low bits.
  const wide = to.bits < 8 || from.bits === 64 || isFloat(x.type.dtype) ? 'int64' : to.carrier;
  const exact = toDType(x, from, wide);
  return ops.cast(
    wrappedInteger(to, to.bits === 64 ? exact : ops.cast(exact, 'int64')),
    to.carrier,
  );
}

function toDType(x: Value, from: ElementType, dtype: DType): Value {
  if (from.name !== 'uint64' || !isFloat(dtype)) return ops.cast(x, dtype);
  const wide = dtype === 'float64' ? dtype : 'float32';
  return ops.cast(unsignedToFloat(x, wide), dtype);
}

/** The power of two at or below a positive number, exact: the logarithm may be off by one. */
function powerBelow(x: Value): { exponent: Value; power: Value } {
  const guess = ops.floor(ops.log2(x));
  const power = ops.exp2(guess);
  const one = (isOff: Value): Value => ops.cast(isOff, 'float32');
  const exponent = ops.add(
    ops.sub(guess, one(ops.greater(power, x))),
    one(ops.lessEqual(ops.mul(power, 2), x)),
  );
  return { exponent, power: ops.exp2(exponent) };
}

/** Rounds to the nearest value of a narrow float, ties to even. */
function roundedNarrow(x: Value, format: NarrowFloat, saturate: boolean): Value {
  const { mantissa, bias, special } = format;
  const least = 2 ** (1 - bias);
  const greatest = greatestOf(format);
  const size = ops.abs(x);
  const { power } = powerBelow(ops.clip(size, least, greatest));
  const step = ops.mul(power, 2 ** -mantissa);
  const rounded = ops.mul(ops.round(ops.div(size, step)), step);
  const beyond = saturate || special === 'none' ? greatest : special === 'ieee' ? Infinity : NaN;
  const held = ops.where(ops.greater(rounded, greatest), beyond, rounded);
  // Formats without a negative zero use the positive one.
  const signed = ops.copysign(held, x);
  const kept = special === 'unsignedZero' ? ops.where(ops.equal(held, 0), 0, signed) : signed;
  return ops.where(ops.isNaN(x), special === 'none' ? 0 : NaN, kept);
}

/** Rounds a positive number to a power of two. */
function roundedPower(x: Value, mode: string): Value {
  const size = ops.abs(x);
  const { exponent, power } = powerBelow(ops.clip(size, 2 ** -126, 2 ** 127));
  const isUp =
    mode === 'down'
      ? ops.less(size, 0)
      : mode === 'nearest'
        ? ops.greaterEqual(size, ops.mul(power, 1.5))
        : ops.greater(size, power);
  const rounded = ops.exp2(ops.minimum(ops.add(exponent, ops.cast(isUp, 'float32')), 127));
  return ops.where(ops.isFinite(x), rounded, ops.where(ops.isNaN(x), NaN, 2 ** 127));
}

function cast(node: ImportedNode, to: ElementType): TensorOperand {
  const options = {
    saturate: node.attributes.flag('saturate', true),
    powers: node.attributes.string('round_mode', 'up'),
  };
  return TensorOperand.of(converted(node.value(0), node.element(0), to, options), to);
}

/** Bit cast of stored elements. */
function reinterpreted(node: ImportedNode): TensorOperand {
  const [from, to] = [node.element(0), elementFor(node.attributes.int('to', 0), node.title)];
  if (from.carrier === to.carrier && from.bits === to.bits) return node.operand(0).as(to);
  const isPlain = from.isOwn && to.isOwn && from.bits === to.bits;
  if (!isPlain)
    throw node.unsupported('these types do not share their bits', `${from.name} to ${to.name}`);
  const { type, data } = node.data(0);
  const copy = new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  return TensorOperand.constant({
    type: { dtype: to.carrier, shape: type.shape },
    data: viewOf(to.carrier, copy.buffer, 0, copy.length / bytesOf(to.carrier)),
  });
}

export const conversions: ImportRules = {
  Cast: anyElement((node) => cast(node, elementFor(node.attributes.int('to', 0), `the result of ${node.title}`))), // prettier-ignore
  CastLike: anyElement((node) => cast(node, node.element(1))),
  BitCast: anyElement(reinterpreted),
};
