import { comesBefore, type SortAttributes, sortedAxis } from '../../../ops/indexing/order.js';
import { argselect, argsort, argsortRows } from '../../../ops/index.js';
import * as e from '../../../loop/language/build.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { DType } from '../../../base/dtype.js';
import { computeScalar } from '../../../ops/declare/lowering.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { HloExpressions } from '../lowering/expressions.js';
import { type HloValue, upTo } from '../language/types.js';
import { staticSizes } from '../lowering/call.js';
import type { HloWriter } from '../language/writer.js';
import { hloRule, type RuleEntry } from './rule.js';

export const orderRules: readonly RuleEntry[] = [
  hloRule<SortAttributes>(
    argsort,
    ({ hlo, inputs: [x], inputTypes: [{ dtype, shape }], attributes }) =>
      order(hlo, [x], dtype, sortedAxis(attributes.axis, shape.length), attributes.descending),
  ),
  hloRule<SortAttributes>(
    argselect,
    ({ hlo, inputs: [x], inputTypes, outputTypes: [{ shape }], attributes }) => {
      const axis = sortedAxis(attributes.axis, shape.length);
      const whole = order(hlo, [x], inputTypes[0].dtype, axis, attributes.descending);
      return hlo.slice(whole, shape.map(() => 0), shape); // prettier-ignore
    },
  ),
  hloRule(
    argsortRows,
    ({
      hlo,
      inputs: [x],
      inputTypes: [
        {
          dtype,
          shape: [rows, width],
        },
      ],
    }) => {
      const [columnCount] = staticSizes(hlo, [width]);
      const columns = upTo(columnCount).map((k) =>
        hlo.reshape(hlo.slice(x, [0, k], [rows, k + 1]), [rows]),
      );
      return columns.length === 0
        ? hlo.iota('int64', [rows], 0)
        : order(hlo, columns, dtype, 0, false);
    },
  ),
];

/** The indices, int64, that sort keys along an axis: by the first, then the second, and so on; stable. */
function order(
  hlo: HloWriter,
  keys: readonly HloValue[],
  dtype: DType,
  axis: number,
  descending: boolean,
): HloValue {
  const numbers = hlo.iota('int64', keys[0].shape, axis);
  const operands = [...keys, numbers];
  const scalars = operands.flatMap((x) => [x, x]).map((x) => ({ dtype: x.dtype, shape: [] }));
  const comparator = hlo.region(scalars, 'isolated', (args) => {
    const scalar = computeScalar(dtype);
    const pairs = keys.map(() => [e.variable('a', scalar), e.variable('b', scalar)] as const);
    const variables: readonly Expr[] = pairs.flat();
    const expressions = new HloExpressions(hlo, [], (variable) => ({
      value: hlo.convert(args[variables.indexOf(variable)], scalarDTypes[scalar]),
      axes: [],
    }));
    const isAhead = pairs.reduceRight<Expr | null>((rest, [a, b]) => {
      const isBefore = comesBefore(a, b, descending);
      if (rest === null) return isBefore;
      return e.or(isBefore, e.and(e.not(comesBefore(b, a, descending)), rest));
    }, null);
    return [expressions.write(isAhead!).value];
  });
  const sorted = hlo.ops(
    'stablehlo.sort',
    operands,
    operands,
    { dimension: `${axis} : i64`, is_stable: 'true' },
    [comparator],
  );
  return sorted[keys.length];
}
