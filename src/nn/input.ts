import { describe } from '../base/attributes/attribute.js';
import { ArgumentError } from '../base/errors.js';
import { NDArray } from '../front/core/ndarray.js';

/**
 * Refuses an input that is not an array; layers do not accept plain data.
 *
 * @throws ArgumentError that names the layer and the argument.
 */
export function checkInput(layer: object, name: string, value: unknown): asserts value is NDArray {
  if (value instanceof NDArray) return;
  throw new ArgumentError(`${name} is not an array`, {
    op: layer.constructor.name,
    expected: 'an array',
    actual: describe(value),
    advice: `make one of plain data with kn.array(${name})`,
  });
}

/**
 * Refuses values that are not states of a layer.
 *
 * @throws ArgumentError that names the layer and its number of states.
 */
export function checkStates(layer: object, states: unknown, count: number): void {
  const holds = Array.isArray(states) && states.length === count;
  if (holds && states.every((state) => state instanceof NDArray)) return;
  throw new ArgumentError('these are not states of the layer', {
    op: layer.constructor.name,
    expected: count === 1 ? 'a list of one array' : `a list of ${count} arrays`,
    actual: describe(states),
    advice: 'begin with beginState(batch)',
  });
}
