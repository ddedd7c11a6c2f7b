import type { Tensor } from '../../ir/types.js';
import type { OperandFit } from '../declare/meeting.js';
import { stretchTo } from './stretch-to.js';
import { withSizes } from './with-sizes.js';

/** The operands of a call with the sizes on which `agree` has decided. */
export function fitted<T extends Tensor>(
  operands: readonly T[],
  fits: readonly OperandFit[],
): readonly T[] {
  return operands.map((operand, i) => {
    const { equal, stretched } = fits[i];
    const same = equal === null ? operand : withSizes(operand, equal.shape, equal.refusal);
    return stretched === null ? same : stretchTo(same, stretched.shape, stretched.refusal);
  });
}
