import { type Dim, isStatic } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import { type ElementType, elementNamed } from '../elements.js';
import { alongAxis, type ImportedNode, type Results } from '../node.js';
import { TensorOperand } from '../operand.js';
import { elementFor } from '../tensor.js';
import { converted } from './conversions.js';
import { convolved, perChannel } from './convolutions.js';
import { anyElement, rule, type ImportRules } from './rule.js';

/** The range of an integer element type. */
function rangeOf({ bits, isOwn, isSigned, carrier }: ElementType): readonly [number, number] {
  const hasSign = isOwn ? carrier.startsWith('int') : isSigned === true;
  return hasSign ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
}

/** Broadcasts scales or zero points: one, one for each index of an axis, or one for each block. */
function besides(node: ImportedNode, parameter: Value, x: Value): Value {
  const { shape } = x.type;
  const own = parameter.type.shape;
  if (own.length === 0 || (own.length === 1 && own[0] === 1)) return ops.reshape(parameter, []);
  const axis = node.axis(node.attributes.int('axis', 1), shape.length);
  if (own.length === 1) return ops.reshape(parameter, alongAxis(own[0], axis, shape.length));
  const size = node.attributes.int('block_size', 0);
  const extent = shape[axis];
  if (size < 1 || !isStatic(extent) || own.length !== shape.length) throw node.refuse('the scales do not fit the operand'); // prettier-ignore
  const blocks = ops.expandDims(parameter, axis + 1);
  const spread = ops.broadcastTo(blocks, [...own.slice(0, axis + 1), size, ...own.slice(axis + 1)]);
  const whole = ops.reshape(
    spread,
    own.map((dim, k): Dim => (k === axis ? Number(dim) * size : dim)),
  );
  return ops.slice(whole, ...shape.map((_, k): ':' | readonly [number, Dim] => (k === axis ? [0, extent] : ':'))); // prettier-ignore
}

/** Quantizes to an integer element type: scaled, rounded to even, clamped. */
function quantizedTo(
  element: ElementType,
  scaled: Value,
  zero: Value | null,
  saturate = true,
): Value {
  if (element.narrow !== undefined) {
    const moved = zero === null ? scaled : ops.add(scaled, ops.cast(zero, scaled.type.dtype));
    return converted(ops.cast(moved, 'float32'), elementNamed('float'), element, { saturate });
  }
  const [least, greatest] = rangeOf(element);
  const rounded = ops.round(scaled);
  const moved = zero === null ? rounded : ops.add(rounded, ops.cast(zero, rounded.type.dtype));
  return ops.cast(ops.clip(moved, least, greatest), element.carrier);
}

function quantize(node: ImportedNode): TensorOperand {
  const x = node.value(0);
  const code = node.attributes.int('output_dtype', 0);
  const named = code === 0 ? elementNamed('uint8') : elementFor(code, node.title);
  const element = node.has(2) ? node.element(2) : named;
  const scale = ops.cast(besides(node, node.value(1), x), 'float32');
  const zero = node.has(2) ? besides(node, node.value(2), x) : null;
  const scaled = ops.div(ops.cast(x, 'float32'), scale);
  const saturate = node.attributes.flag('saturate', true);
  return TensorOperand.of(quantizedTo(element, scaled, zero, saturate), element);
}

function dequantize(node: ImportedNode): Value {
  const x = node.value(0);
  const scale = besides(node, node.value(1), x);
  const code = node.attributes.int('output_dtype', 0);
  const dtype = code === 0 ? scale.type.dtype : elementFor(code, node.title).carrier;
  const zero = node.has(2) ? besides(node, node.value(2), x) : null;
  const wide = (each: Value): Value => (isFloat(each.type.dtype) ? each : ops.cast(each, 'int32'));
  const moved = zero === null ? wide(x) : ops.sub(wide(x), wide(zero));
  return ops.cast(ops.mul(ops.cast(moved, 'float32'), ops.cast(scale, 'float32')), dtype);
}

/** DynamicQuantizeLinear: by the range of the operand, extended to include zero. */
function dynamic(node: ImportedNode): Results {
  const x = node.value(0);
  const least = ops.minimum(ops.min(x), 0);
  const greatest = ops.maximum(ops.max(x), 0);
  const scale = ops.div(ops.sub(greatest, least), 255);
  const zero = ops.clip(ops.round(ops.div(ops.neg(least), scale)), 0, 255);
  const element = elementNamed('uint8');
  const y = quantizedTo(element, ops.div(x, scale), zero);
  return [y, scale, ops.cast(zero, 'uint8')];
}

/** Integers minus their zero point, in a dtype in which sums of products are exact. */
function centered(x: Value, zero: Value | null, align: (zero: Value) => Value): Value {
  const wide = ops.cast(x, 'int32');
  return zero === null ? wide : ops.sub(wide, align(ops.cast(zero, 'int32')));
}

/** A zero point for each row of the left factor, or each column of the right one. */
function rows(zero: Value): Value {
  return zero.type.shape.length === 1 ? ops.expandDims(zero, -1) : zero;
}

function integerProduct(
  node: ImportedNode,
  indices: readonly [number, number, number, number],
): Value {
  const [a, b, zeroA, zeroB] = indices;
  const left = centered(node.value(a), node.optional(zeroA), rows);
  const right = centered(node.value(b), node.optional(zeroB), (zero) => zero);
  return ops.matmul(left, right);
}

/** Requantizes an integer result to another scale. */
function requantized(
  node: ImportedNode,
  result: Value,
  scale: Value,
  scaleIndex: number,
): TensorOperand {
  const element = node.element(scaleIndex + 1);
  const factor = ops.div(ops.cast(scale, 'float32'), ops.cast(node.value(scaleIndex), 'float32'));
  const scaled = ops.mul(ops.cast(result, 'float32'), factor);
  return TensorOperand.of(quantizedTo(element, scaled, node.value(scaleIndex + 1)), element);
}

function quantizedProduct(node: ImportedNode): TensorOperand {
  const product = integerProduct(node, [0, 3, 2, 5]);
  const scale = ops.mul(
    ops.cast(rows(node.value(1)), 'float32'),
    ops.cast(node.value(4), 'float32'),
  );
  return requantized(node, product, scale, 6);
}

/** Integer convolution, exact in float64. */
function integerConvolution(node: ImportedNode, x: Value, w: Value): Value {
  return ops.cast(convolved(node, ops.cast(x, 'float64'), ops.cast(w, 'float64')), 'int32');
}

function quantizedConvolution(node: ImportedNode): TensorOperand {
  const axes = node.rank(0) - 2;
  const x = centered(node.value(0), node.value(2), (zero) => ops.reshape(zero, []));
  const w = centered(node.value(3), node.value(5), (zero) => perChannel(zero, axes + 1));
  const plain = integerConvolution(node, x, w);
  const bias = node.optional(8);
  const result = bias === null ? plain : ops.add(plain, perChannel(bias, axes));
  const scale = ops.mul(ops.reshape(node.value(1), []), perChannel(node.value(4), axes));
  return requantized(node, result, scale, 6);
}

export const quantized: ImportRules = {
  QuantizeLinear: anyElement(quantize),
  DequantizeLinear: anyElement(dequantize),
  DynamicQuantizeLinear: rule(dynamic),
  MatMulInteger: rule((node) => integerProduct(node, [0, 1, 2, 3])),
  QLinearMatMul: rule(quantizedProduct),
  ConvInteger: rule((node) => {
    const axes = node.rank(0) - 2;
    const x = centered(node.value(0), node.optional(2), (zero) => ops.reshape(zero, []));
    const w = centered(node.value(1), node.optional(3), (zero) => perChannel(zero, axes + 1));
    return integerConvolution(node, x, w);
  }),
  QLinearConv: rule(quantizedConvolution),
};
