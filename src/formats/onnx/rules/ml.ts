import { isStatic } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { constantNumbers } from '../node.js';
import { floats, integers } from '../operand.js';
import { rule, type ImportRules } from './rule.js';

function row(node: ImportedNode, values: readonly number[], dtype: 'float32' | 'int64'): Value {
  return node.region.constant(dtype === 'int64' ? integers(values) : floats(values));
}

/** Keys or values of a table, from the attribute of the right kind. */
function table(
  node: ImportedNode,
  what: 'keys' | 'values',
): { numbers: readonly number[]; dtype: 'float32' | 'int64' } {
  const { attributes } = node;
  const ints = attributes.ints(`${what}_int64s`, null);
  if (ints !== null) return { numbers: ints, dtype: 'int64' };
  const floats = attributes.floats(`${what}_floats`, null);
  if (floats !== null) return { numbers: floats, dtype: 'float32' };
  const tensor = attributes.tensor(`${what}_tensor`);
  if (tensor === undefined) throw node.unsupported(`${what} that are strings`);
  const operand = node.importer.constantOf(tensor, `the ${what} of ${node.place}`);
  const { dtype } = operand.type;
  if (dtype !== 'int64' && dtype !== 'float32') throw node.unsupported(`${what} of this type`, operand.element.name); // prettier-ignore
  return { numbers: constantNumbers(operand.data!), dtype };
}

/** LabelEncoder: maps keys to values; unknown keys become the default. */
function labels(node: ImportedNode): Value {
  const x = node.value(0);
  const keys = table(node, 'keys');
  const values = table(node, 'values');
  if (keys.numbers.length !== values.numbers.length) throw node.refuse('there is not one value for each key'); // prettier-ignore
  const fallback = node.attributes.tensor('default_tensor');
  const otherwise =
    fallback === undefined
      ? values.dtype === 'int64'
        ? node.attributes.int('default_int64', -1)
        : node.attributes.float('default_float', -0)
      : constantNumbers(node.importer.constantOf(fallback, 'the default').data!)[0];
  const known = row(node, keys.numbers, keys.dtype);
  const found = row(node, [...values.numbers, otherwise], values.dtype);
  const column = ops.expandDims(ops.cast(x, keys.dtype), -1);
  const areNaN = ops.logicalAnd(ops.isNaN(column), ops.isNaN(known));
  const matches = ops.logicalOr(ops.equal(column, known), areNaN);
  const last = ops.fullLike(matches, 1, { shape: [...x.type.shape, 1] });
  const place = ops.argmax(ops.cast(ops.concat([matches, last], -1), 'int32'), -1);
  return ops.take(found, place, { axis: 0, mode: 'clip' });
}

/** Normalizer: divides rows by their maximum, sum or Euclidean norm. */
function normalized(node: ImportedNode): Value {
  const x = ops.cast(node.value(0), 'float32');
  const kind = node.attributes.string('norm', 'MAX');
  const options = { keepdims: true };
  const sizes: Readonly<Record<string, Value>> = {
    MAX: ops.max(ops.abs(x), -1, options),
    L1: ops.sum(ops.abs(x), -1, options),
    L2: ops.sqrt(ops.sum(ops.square(x), -1, options)),
  };
  const size = sizes[kind];
  if (size === undefined) throw node.refuse('no such norm', 'MAX, L1 or L2', kind);
  return ops.where(ops.equal(size, 0), x, ops.div(x, size));
}

export const machineLearning: ImportRules = {
  ArrayFeatureExtractor: rule((node) => {
    const x = node.value(0);
    const taken = ops.take(x, ops.flatten(node.value(1)), { axis: -1 });
    return x.type.shape.length === 1 ? ops.expandDims(taken, 0) : taken;
  }),
  Binarizer: rule((node) => {
    const x = node.value(0);
    return ops.cast(ops.greater(x, node.attributes.float('threshold', 0)), x.type.dtype);
  }),
  LabelEncoder: rule(labels),
  Normalizer: rule(normalized),
  Scaler: rule((node) => {
    const x = ops.cast(node.value(0), 'float32');
    const scale = row(node, node.attributes.floats('scale', [1]), 'float32');
    return ops.mul(ops.sub(x, row(node, node.attributes.floats('offset', [0]), 'float32')), scale);
  }),
  FeatureVectorizer: rule((node) => {
    const parts = node.values().map((x) => {
      const { shape } = x.type;
      if (shape.length > 2 || !shape.every(isStatic))
        throw node.unsupported('rows of unknown length');
      return ops.cast(shape.length === 1 ? ops.expandDims(x, 0) : x, 'float32');
    });
    return ops.concat(parts, -1);
  }),
};
