import type { DType } from '../../../base/dtype.js';
import type { Shape } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { Expr, Scalar } from '../../../loop/language/nodes.js';
import { type Access, computeScalar, type PointLowering } from '../../../ops/declare/lowering.js';
import type { HloCall } from './call.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { HloExpressions, type HloSpread } from './expressions.js';
import { SizeVariables } from './size-variables.js';
import { type ReadContext, readAt } from './reads.js';
import { type HloValue, upTo } from '../language/types.js';

/** Writes an operator whose elements are expressions of their index. */
export function writeHloPoint(
  call: HloCall,
  lowering: Pick<PointLowering<HloCall['attributes']>, 'point'>,
): HloValue {
  const { hlo, inputs, inputTypes, attributes } = call;
  const [{ dtype, shape }] = call.outputTypes;
  const meanings = new Map<Expr, () => HloSpread>();
  const variable = (scalar: Scalar, meaning: () => HloSpread): Expr => {
    const made = e.variable('value', scalar);
    meanings.set(made, meaning);
    return made;
  };
  const index = shape.map((_, axis) =>
    variable('i32', () => ({ value: hlo.iota('int32', [shape[axis]], 0, axis), axes: [axis] })),
  );
  const extents = new SizeVariables(hlo);
  const expressions = new HloExpressions(
    hlo,
    shape,
    (read) => extents.meaning(read) ?? meanings.get(read)!(),
  );
  const context: ReadContext = { hlo, space: shape, index, extents, expressions };
  const sizes = (dims: Shape): readonly Expr[] => dims.map((dim) => extents.of(dim));
  const element = lowering.point({
    attributes,
    inputs: inputTypes.map((type, operand): Access => ({
      dtype: type.dtype as DType,
      shape: sizes(type.shape),
      buffer: null,
      at: (at) =>
        variable(computeScalar(type.dtype), () => {
          const read = readAt(context, inputs[operand], at);
          return { ...read, value: hlo.convert(read.value, scalarDTypes[computeScalar(type.dtype)]) }; // prettier-ignore
        }),
    })),
    inputTypes,
    outputType: { dtype, shape: sizes(shape) },
    index,
    extent: (dim) => extents.of(dim),
  });
  const written = expressions.write(element);
  const narrow = { value: hlo.convert(written.value, dtype), axes: written.axes };
  return expressions.along(narrow, upTo(shape.length));
}
