import { typeToString } from '../../ir/program.js';
import type { Computation } from '../../ir/shared-sizes.js';
import { NDArray } from './ndarray.js';

/** Limit of constants that are compared by elements instead of identity. */
const mostElements = 16;

/** Computation of a captured array, so that sizes decided by equal computations are one size. */
export function describeValue(object: object): Computation | string | null {
  if (!(object instanceof NDArray)) return null;
  const { origin, elements, type } = object;
  if (elements !== null) {
    if (!object.isConstant || elements.length > mostElements) return null;
    const texts = Array.from<unknown, string>(elements.host, (element) =>
      Object.is(element, -0) ? '-0' : String(element),
    );
    return `${typeToString(type)}=${texts.join()}`;
  }
  if (origin === null) return null;
  const { declaration: op, attributes, regions, operands, results } = origin;
  return {
    op,
    attributes,
    regions,
    operands:
      op.readsTypesOnly === true ? operands.map((each) => typeToString(each.type)) : operands,
    port: results.indexOf(object),
  };
}
