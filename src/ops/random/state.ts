import type { Dim } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { greatestFinite } from '../../base/numbers.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import type { InferContext } from '../../ir/operator.js';
import type { TensorType } from '../../ir/types.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type SampleArray, tensor } from '../declare/declare.js';
import { checkShape, shapeToString } from '../declare/infer.js';
import type { PointLowering } from '../declare/lowering.js';
import { randomWords, type WordPair } from './threefry.js';

/*
 * Random arrays. The state is an ordinary operand, an int64 array [seed, counter], so that graphs draw
 * fresh numbers on replay: whoever calls counts up. Equal states give equal numbers on every target.
 */

/** A random state for samples. */
export const sampleState: SampleArray = tensor([2], { dtype: 'int64', values: [42, 7] });

/** The conversion of the one operand. */
export const withState = (): readonly DType[] => ['int64'];

/** The result type, after checking the state and the shape. */
export function inferRandom(
  op: string,
  dtype: DType,
  shape: readonly Dim[],
  { inputs: [state], require }: InferContext,
): readonly TensorType[] {
  checkShape(op, shape, require);
  const { dtype: stateType, shape: stateShape } = state;
  if (stateType !== 'int64' || stateShape.length !== 1 || stateShape[0] !== 2) {
    throw new ShapeError('the random state is not a seed and a counter', {
      op,
      expected: 'int64[2]',
      actual: `${stateType}${shapeToString(stateShape)}`,
    });
  }
  return [{ dtype, shape }];
}

/** A lowering from the random words of each element. */
export function randomLowering<A>(
  value: (words: WordPair, attributes: A, dtype: DType) => Expr,
): PointLowering<A> {
  return {
    kind: 'point',
    elementwise: false,
    point: (context) => value(randomWords(context), context.attributes, context.outputType.dtype),
  };
}

/** Refuses dtypes that are not floats. */
export function checkFloat(op: string, dtype: DType): void {
  if (isFloat(dtype)) return;
  throw new DTypeError('draws fractions', {
    op,
    expected: 'a float dtype',
    actual: dtype,
    advice: 'draw integers with randomInteger',
  });
}

/** Refuses numbers beyond the range of a float dtype: results would be infinite. */
export function checkHolds(
  op: string,
  dtype: DType,
  numbers: Readonly<Record<string, number>>,
): void {
  const greatest = greatestFinite(dtype) ?? Infinity;
  for (const [name, value] of Object.entries(numbers)) {
    if (Math.abs(value) <= greatest) continue;
    throw new ArgumentError(`${name} is beyond ${dtype}`, {
      op,
      expected: `a number from ${-greatest} to ${greatest}`,
      actual: String(value),
      advice: 'draw in a wider dtype',
    });
  }
}

/** Refuses an empty range. */
export function checkSpan(op: string, low: number, high: number, acceptable: boolean): void {
  if (acceptable) return;
  throw new ArgumentError('there is nothing between the bounds', {
    op,
    expected: 'finite bounds, low < high',
    actual: `low ${low}, high ${high}`,
  });
}
