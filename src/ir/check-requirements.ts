import type { Dim } from '../base/dim/index.js';
import { bindShapes } from './bind.js';
import { namedInputs, type Program } from './program.js';
import { requireAt, requireNow } from './requirement.js';
import type { TensorType } from './types.js';

/** Cache: the operand types with which a program was last checked; the result holds while they stay the same. */
const passed = new WeakMap<Program, readonly TensorType[]>();

/**
 * Checks a program's requirements of sizes before it runs on operands of these types, which are those of its
 * leading inputs and determine the sizes of its symbols.
 *
 * @throws the error of the operator that states the requirement, with the user's line; ShapeError when the
 * operands do not fit the inputs.
 */
export function checkRequirements(
  program: Program,
  operands: readonly { readonly type: TensorType }[],
): void {
  if (program.requirements.length === 0) return;
  const last = passed.get(program);
  if (last?.length === operands.length && operands.every(({ type }, i) => sameSizes(type, last[i]))) return; // prettier-ignore
  const sizes = bindShapes<Dim>(
    namedInputs(program)
      .slice(0, operands.length)
      .map(({ name, type }, i) => ({
        name,
        declared: type.shape,
        actual: operands[i].type.shape,
      })),
  );
  for (const requirement of program.requirements) requireAt(requirement, sizes, requireNow);
  passed.set(
    program,
    operands.map(({ type }) => type),
  );
}

function sameSizes(a: TensorType, b: TensorType): boolean {
  if (a === b) return true;
  return a.shape.length === b.shape.length && a.shape.every((size, axis) => size === b.shape[axis]);
}
