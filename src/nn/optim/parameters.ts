import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { Parameter } from '../parameter.js';

/** Refuses a value that is not a map of parameters. */
export function checkParameterMap(op: string, parameters: unknown): void {
  const isMap = parameters instanceof Map;
  if (isMap && [...parameters.values()].every((each) => each instanceof Parameter)) return;
  throw new ArgumentError('these are not parameters', {
    op,
    expected: 'a map from names to parameters',
    actual: isMap
      ? `a map with ${describe([...parameters.values()].find((each) => !(each instanceof Parameter)))}`
      : describe(parameters),
    advice: 'pass net.parameters()',
  });
}

/** Refuses that one of the parameters, which had no gradient when the optimizer was made, has one now. */
export function checkFrozen(
  op: string,
  untrained: readonly (readonly [string, Parameter])[],
): void {
  for (const [name, { gradReq }] of untrained) {
    if (gradReq === 'null') continue;
    throw new ArgumentError(`parameter ${name} was frozen when the optimizer was made`, {
      op,
      expected: 'gradReq null, as it was then',
      actual: `gradReq ${gradReq}`,
      advice:
        'make the optimizer before parameters are frozen, or another one for those that train again',
    });
  }
}
