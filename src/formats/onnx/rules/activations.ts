import { elementCount } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode, ImportRule } from '../node.js';
import { rule, type ImportRules, unaryRule } from './rule.js';

/** An operator on the flattened last axes before opset 13, and on a single axis since. */
function overAxis(f: (x: Value, axis: number, node: ImportedNode) => Value): ImportRule {
  return rule((node) => {
    const x = node.value(0);
    const { shape } = x.type;
    if (node.version >= 13) return f(x, node.attributes.int('axis', -1), node);
    const given = node.attributes.int('axis', 1);
    const axis = given === shape.length ? given : node.axis(given, shape.length);
    const flat = ops.reshape(x, [
      elementCount(shape.slice(0, axis)),
      elementCount(shape.slice(axis)),
    ]);
    return ops.reshape(f(flat, 1, node), shape);
  });
}

/** One at the first maximum, zero elsewhere. */
function hardmax(x: Value, axis: number, node: ImportedNode): Value {
  const { shape, dtype } = x.type;
  const at = axis < 0 ? axis + shape.length : axis;
  const places = ops.argmax(x, at, { keepdims: true });
  return ops.cast(ops.equal(places, node.indices(shape, at)), dtype);
}

/** A slope for each channel: if of lower rank, it starts at the second axis before opset 7. */
function parametricRelu(node: ImportedNode): Value {
  const [x, slope] = [node.value(0), node.value(1)];
  const rank = x.type.shape.length;
  const isChannels = node.version < 7 && slope.type.shape.length === 1 && rank > 1;
  const factors = isChannels
    ? ops.reshape(slope, [slope.type.shape[0], ...Array.from({ length: rank - 2 }, () => 1)])
    : slope;
  return ops.where(ops.less(x, 0), ops.mul(x, factors), x);
}

function shrunk(node: ImportedNode): Value {
  const x = node.value(0);
  const lambda = node.attributes.float('lambd', 0.5);
  const bias = node.attributes.float('bias', 0);
  const inside = ops.where(ops.greater(x, lambda), ops.sub(x, bias), 0);
  return ops.where(ops.less(x, -lambda), ops.add(x, bias), ops.cast(inside, x.type.dtype));
}

export const activations: ImportRules = {
  Relu: rule((node) => ops.maximum(node.value(0), 0)),
  LeakyRelu: rule((node) =>
    ops.leakyRelu(node.value(0), { slope: node.attributes.float('alpha', 0.01) }),
  ),
  PRelu: rule(parametricRelu),
  Elu: rule((node) => ops.elu(node.value(0), { alpha: node.attributes.float('alpha', 1) })),
  Celu: rule((node) => {
    const alpha = node.attributes.float('alpha', 1);
    const x = node.value(0);
    const below = ops.mul(ops.expm1(ops.div(ops.minimum(x, 0), alpha)), alpha);
    return ops.add(ops.maximum(x, 0), below);
  }),
  Selu: rule((node) => {
    const x = node.value(0);
    const alpha = node.attributes.float('alpha', 1.6732632423543772);
    const gamma = node.attributes.float('gamma', 1.0507009873554805);
    return ops.mul(ops.elu(x, { alpha }), gamma);
  }),
  ThresholdedRelu: rule((node) => {
    const x = node.value(0);
    return ops.where(ops.greater(x, node.attributes.float('alpha', 1)), x, 0);
  }),
  Sigmoid: unaryRule((x) => ops.sigmoid(x)),
  HardSigmoid: rule((node) => {
    const alpha = node.attributes.float('alpha', 0.2);
    const beta = node.attributes.float('beta', 0.5);
    return ops.clip(ops.add(ops.mul(node.value(0), alpha), beta), 0, 1);
  }),
  HardSwish: unaryRule((x) => ops.hardSwish(x)),
  Softplus: unaryRule((x) => ops.softplus(x)),
  Softsign: unaryRule((x) => ops.softsign(x)),
  Mish: unaryRule((x) => ops.mish(x)),
  Gelu: rule((node) => {
    const approximate = node.attributes.string('approximate', 'none');
    if (approximate !== 'none' && approximate !== 'tanh') throw node.refuse('no such approximation', 'none or tanh', approximate); // prettier-ignore
    return ops.gelu(node.value(0), { approximate });
  }),
  Swish: rule((node) => {
    const x = node.value(0);
    return ops.mul(x, ops.sigmoid(ops.mul(x, node.attributes.float('alpha', 1))));
  }),
  SwiGLU: rule((node) => {
    const gate = node.value(0);
    const alpha = node.attributes.float('alpha', 1);
    return ops.mul(ops.mul(gate, ops.sigmoid(ops.mul(gate, alpha))), node.value(1));
  }),
  Shrink: rule(shrunk),
  Softmax: overAxis((x, axis) => ops.softmax(x, axis)),
  LogSoftmax: overAxis((x, axis) => ops.logSoftmax(x, axis)),
  Hardmax: overAxis(hardmax),
};
