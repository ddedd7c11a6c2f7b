import { isFloat } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import type { Shape } from '../../../ir/types.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode, Results, ImportRule } from '../node.js';
import { elementFor } from '../tensor.js';
import { rule, type ImportRules } from './rule.js';

/*
 * Each run draws fresh numbers from Kaon's generator, which `random.seed` sets; seeds that a model names are
 * those of other generators, and mean nothing to it.
 */

type Draw = (
  state: Value,
  shape: Shape,
  dtype: Value['type']['dtype'],
  node: ImportedNode,
) => Value;

const uniform: Draw = (state, shape, dtype, { attributes }) =>
  ops.randomUniform<Value>(state, shape, {
    low: attributes.float('low', 0),
    high: attributes.float('high', 1),
    dtype,
  });

const normal: Draw = (state, shape, dtype, { attributes }) =>
  ops.randomNormal<Value>(state, shape, {
    mean: attributes.float('mean', 0),
    std: attributes.float('scale', 1),
    dtype,
  });

/** Random numbers of a shape given by an attribute. */
function drawn(draw: Draw): ImportRule {
  return rule((node) => {
    const shape = node.attributes.ints('shape', null);
    if (shape === null || shape.some((size) => size < 0)) throw node.refuse('no shape is given');
    const { carrier } = elementFor(node.attributes.int('dtype', 1), node.title);
    return draw(node.importer.draw(node), shape, carrier, node);
  });
}

/** Random numbers of the operand's shape. */
function drawnLike(draw: Draw): ImportRule {
  return rule((node) => {
    const { shape, dtype } = node.operand(0).type;
    const code = node.attributes.int('dtype', null);
    const named = code === null ? dtype : elementFor(code, node.title).carrier;
    return draw(node.importer.draw(node), shape, isFloat(named) ? named : 'float32', node);
  });
}

/** Booleans with the operand's probabilities. */
function bernoulli(node: ImportedNode): Value {
  const p = node.value(0);
  const code = node.attributes.int('dtype', null);
  const dtype = code === null ? p.type.dtype : elementFor(code, node.title).carrier;
  const numbers = ops.randomUniform<Value>(node.importer.draw(node), p.type.shape, {
    dtype: isFloat(p.type.dtype) ? p.type.dtype : 'float32',
  });
  return ops.cast(ops.less(numbers, p), dtype);
}

/** Dropout: in training zeroes elements and scales the others. */
function dropout(node: ImportedNode): Results {
  const x = node.value(0);
  const isTraining = node.version >= 12 && node.has(2) && node.number(2) !== 0;
  const rate = !isTraining ? 0 : node.has(1) ? node.number(1) : 0.5;
  if (rate === 0) {
    return [x, ...(node.wants(1) ? [ops.onesLike(x, { dtype: 'bool' })] : [])];
  }
  if (!(rate > 0 && rate < 1)) throw node.refuse('the rate is no probability below 1', undefined, String(rate)); // prettier-ignore
  const numbers = ops.randomUniform<Value>(node.importer.draw(node), x.type.shape);
  const mask = ops.greaterEqual(numbers, rate);
  return [ops.mul(x, ops.div(ops.cast(mask, x.type.dtype), 1 - rate)), mask];
}

export const randomness: ImportRules = {
  RandomUniform: drawn(uniform),
  RandomNormal: drawn(normal),
  RandomUniformLike: drawnLike(uniform),
  RandomNormalLike: drawnLike(normal),
  Bernoulli: rule(bernoulli),
  Dropout: rule(dropout),
};
