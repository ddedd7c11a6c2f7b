import { describe } from '../../base/attributes/attribute.js';
import { wideFloat } from '../../base/dtype.js';
import { FormatError } from '../../base/errors.js';
import { zeros } from '../../front/arrays/creation.js';
import { arrayType } from '../../front/core/array-type.js';
import { outsideCapture } from '../../front/core/capture.js';
import { NDArray } from '../../front/core/ndarray.js';
import { hasShapeOnly, recipeOf, shapeOnly, whenFilled } from '../../front/devices/shape-only.js';
import { nameArray } from '../../front/options/names.js';
import type { Parameter } from '../parameter.js';

/** State of an optimizer in a checkpoint. */
export interface OptimizerState {
  readonly arrays: ReadonlyMap<string, NDArray>;
  readonly steps: number;
}

/** Refuses a value that does not have the form of a state. */
export function readState(op: string, state: unknown): OptimizerState {
  const refuse = (actual: string): FormatError =>
    new FormatError('this is not a state of an optimizer', {
      op,
      expected: 'the result of state(): { arrays, steps }, a map of arrays by name and a number',
      actual,
    });
  if (typeof state !== 'object' || state === null) throw refuse(describe(state));
  const { arrays } = state as OptimizerState;
  if (!(arrays instanceof Map)) throw refuse(`arrays: ${describe(arrays)}`);
  for (const [name, slot] of arrays as ReadonlyMap<unknown, unknown>) {
    if (!(slot instanceof NDArray)) throw refuse(`${describe(name)}: ${describe(slot)}`);
  }
  return state as OptimizerState;
}

/** New state arrays of a parameter, zeros of its shape; shapes alone where the parameter is one. */
export function newSlots(parameter: Parameter, names: readonly string[]): readonly NDArray[] {
  const { value } = parameter;
  const dtype = wideFloat(parameter.dtype);
  const make = (): NDArray => zeros(value.shape, { dtype });
  const isShapeOnly = hasShapeOnly(value);
  const slots = names.map((name) => {
    const slot = isShapeOnly
      ? shapeOnly(arrayType(dtype, value.shape), { stream: null, make })
      : outsideCapture(make);
    if (!isShapeOnly) slot.pin();
    nameArray(slot, () => `${parameter.name || 'parameter'}/${name}`);
    return slot;
  });
  // Code that was captured in between reads them without asking the optimizer.
  if (isShapeOnly) whenFilled(value, () => materializeSlots(parameter, slots));
  return slots;
}

/** Gives state arrays their elements once the parameter has its own. */
function materializeSlots(parameter: Parameter, slots: readonly NDArray[]): void {
  if (hasShapeOnly(parameter.value)) return;
  for (const slot of slots) {
    const recipe = recipeOf(slot);
    if (recipe !== undefined) outsideCapture(() => slot.assign(recipe.make()));
  }
}
