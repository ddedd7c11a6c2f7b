import { typeToString } from '../../ir/program.js';
import { attributesKey } from '../../base/attributes/key.js';
import { NDArray } from './ndarray.js';

/** Limit of constants that are compared by elements instead of identity. */
const mostElements = 16;

/**
 * Structural key of a captured array's computation, so that sizes decided by equal computations are one size.
 * Null for other arrays.
 */
export function describeValue(object: object, numberOf: (object: object) => number): string | null {
  if (!(object instanceof NDArray)) return null;
  const { origin, elements, type } = object;
  if (elements !== null) {
    if (!object.isConstant || elements.length > mostElements) return null;
    return `${type.dtype}[${type.shape.join()}]${elements.host.join()}`;
  }
  if (origin === null) return null;
  const { declaration, attributes, regions, operands, results } = origin;
  const given =
    declaration.readsTypesOnly === true
      ? operands.map((operand) => typeToString(operand.type))
      : operands.map(numberOf);
  const numbers = [...[declaration, ...regions].map(numberOf), ...given];
  return `${numbers.join()}.${results.indexOf(object)}${attributesKey(declaration, attributes)}`;
}
