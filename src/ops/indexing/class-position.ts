import * as attr from '../../base/attributes/attribute.js';
import { type Dim, isStatic, subDim } from '../../base/dim/index.js';
import { ArgumentError } from '../../base/errors.js';
import type { Shape, Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { checkShape } from '../declare/infer.js';
import { clamped } from '../loops.js';
import { checkIndexDType, indexDType } from './position.js';

export interface ClassPositionOptions {
  /** The label to ignore. Default none. */
  readonly ignoreIndex?: number | null;
}

/**
 * @internal Integer labels as indices along an axis of classes: int32, and -1 for `ignoreIndex`. A label is a class
 * itself, so a negative one does not count from the end.
 *
 * @throws ArgumentError for a label below 0 or from `classes` on, with the first such label and its position;
 * where only a running graph knows the labels, they are clamped (decision 7).
 */
export const classPosition: OperatorFunction<
  <T extends Tensor = DefaultTensor>(
    labels: Input<T>,
    classes: Dim,
    options?: ClassPositionOptions,
  ) => T
> = operator({
  name: 'classPosition',
  options: { at: 2, names: ['ignoreIndex'] },
  family: 'indexing',
  attributes: { classes: attr.dim, ignoreIndex: attr.optional(attr.int) },
  method: false,
  operands: ([labels]) => [indexDType(labels)],
  call: (labels, classes, options) => ({
    inputs: [labels],
    attributes: { classes, ignoreIndex: options?.ignoreIndex ?? null },
  }),
  infer: ({ inputs: [{ dtype, shape }], attributes: { classes }, require }) => {
    checkIndexDType('classPosition', dtype);
    checkShape('classPosition', [classes], require);
    return [{ dtype: 'int32', shape }];
  },
  check: {
    operand: 0,
    accepts: (_types, { classes, ignoreIndex }) => ({
      least: 0,
      most: subDim(classes, 1),
      except: ignoreIndex,
    }),
    refusal: ({ element, at, shape, most }, { ignoreIndex }) =>
      new ArgumentError(`label ${element} at ${placeOf(at, shape)} is no class`, {
        op: 'classPosition',
        expected:
          `a class from 0 to ${most}` +
          (ignoreIndex === null ? '' : `, or ${ignoreIndex}, which is ignored`),
        actual: String(element),
        advice: 'give ignoreIndex if this label stands for no class',
      }),
  },
  gradient: 'none',
  lowering: {
    kind: 'point',
    elementwise: false,
    point: ({ inputs: [labels], index, extent, attributes: { classes, ignoreIndex } }) => {
      const raw = labels.at(index);
      const last = e.sub(e.cast(raw.type.scalar, extent(classes)), 1);
      const position = e.cast('i32', clamped(raw, 0, last));
      if (ignoreIndex === null || !isHeld(raw.type.scalar, ignoreIndex)) return position;
      return e.select(e.eq(raw, e.constant(raw.type.scalar, ignoreIndex)), e.i32(-1), position);
    },
  },
  batch: {
    rows: ({ inputs: [labels], attributes: { classes, ...options } }) => [
      classPosition(labels, classes, options),
    ],
  },
  onnx: ({ onnx, inputs: [labels], attributes: { classes, ignoreIndex } }) => {
    const wide = onnx.cast(labels, 'int64');
    const least = onnx.node('Max', [wide, onnx.scalar('int64', 0)]);
    const last = onnx.node('Sub', [onnx.size(classes), onnx.scalar('int64', 1)]);
    const position = onnx.node('Min', [least, last]);
    if (ignoreIndex === null) return onnx.cast(position, 'int32');
    const isIgnored = onnx.node('Equal', [wide, onnx.scalar('int64', ignoreIndex)], {}, 'bool');
    const chosen = onnx.node('Where', [isIgnored, onnx.scalar('int64', -1), position], {}, 'int64');
    return onnx.cast(chosen, 'int32');
  },
  samples: [
    { args: [tensor(['n'], { dtype: 'int32', low: 0, high: 3 }), 4] },
    { args: [tensor(['n', 2], { dtype: 'int64', low: 0, high: 2 }), 3, { ignoreIndex: 1 }] },
    { args: [tensor([3], { dtype: 'uint8', low: 0, high: 4 }), 5, { ignoreIndex: -100 }] },
  ],
});

/** True when the scalar type of labels can represent a value. */
function isHeld(scalar: string, value: number): boolean {
  return scalar === 'i64' || value === (value | 0);
}

/** The index of an element; its row-major position where the shape has symbols. */
function placeOf(at: number, shape: Shape): string {
  if (!shape.every(isStatic)) return `position ${at}`;
  const index: number[] = [];
  let rest = at;
  for (const extent of [...shape].reverse()) {
    const size = Number(extent);
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${index.join(', ')}]`;
}
