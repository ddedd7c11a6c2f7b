import { sameShape } from '../base/dim/index.js';
import { allocate, type DType, isFloat } from '../base/dtype.js';
import { type Element, readElement, writeElement } from '../base/element.js';
import type { Value } from '../ir/program.js';
import type { ConstantData, TensorType } from '../ir/types.js';
import { callOf } from './declare/law.js';
import { fill, fullLike } from './movement/fill.js';
import { broadcastTo } from './reduction/sum.js';

/** Uniform values, the same number everywhere: tests and constructors for laws. */

/** Size limit of constants that are searched. */
const mostElements = 16;

/** True when every element is known to be this number; 0 and -0 are different floats. */
export function isFilledWith(value: Value, number: number): boolean {
  const element = elementOfAll(value);
  if (element === undefined) return false;
  return typeof element === 'number' ? Object.is(element, number) : Number(element) === number;
}

/**
 * True when every element is the neutral one of addition: 0 of an integer or bool, -0 of a float (0 would
 * turn -0 into 0).
 */
export function isNeutralOfSum(value: Value): boolean {
  return isFilledWith(value, isFloat(value.type.dtype) ? -0 : 0);
}

function elementOfAll(value: Value): Element | undefined {
  const node = value.program.node(value.node);
  if (node.kind === 'constant') return elementOfConstant(node.data);
  const stretched = callOf(value, broadcastTo);
  if (stretched !== null) return elementOfAll(stretched.inputs[0]);
  const made = callOf(value, fill) ?? callOf(value, fullLike);
  return made === null ? undefined : rounded(made.attributes.value as number, value.type.dtype);
}

function elementOfConstant({ type: { dtype }, data }: ConstantData): Element | undefined {
  if (data.length === 0 || data.length > mostElements) return undefined;
  const first = readElement(dtype, data, 0);
  for (let i = 1; i < data.length; i++) {
    if (!Object.is(readElement(dtype, data, i), first)) return undefined;
  }
  return first;
}

/** A number rounded to a dtype as `fill` does it. */
function rounded(value: number, dtype: DType): Element | undefined {
  if (!Number.isFinite(value) && !isFloat(dtype)) return undefined;
  const home = allocate(dtype, 1);
  writeElement(dtype, home, 0, value);
  return readElement(dtype, home, 0);
}

/** `x`, broadcast to the shape of a call's result. */
export function broadcastLike(x: Value, { shape }: TensorType): Value {
  return sameShape(x.type.shape, shape) ? x : broadcastTo(x, shape);
}

/** An array of this type with the number everywhere; `like` determines the program. */
export function filledLike(number: number, { dtype, shape }: TensorType, like: Value): Value {
  return fullLike(like, number, { dtype, shape });
}
