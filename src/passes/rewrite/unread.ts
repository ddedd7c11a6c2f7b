import type { Program, Value } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { fill } from '../../ops/movement/fill.js';

/** A placeholder of a type, for a result that is not read. */
export function unread(into: Program, { dtype, shape }: TensorType): Value {
  return into.append(fill.declaration, [], { shape, value: 0, dtype })[0];
}
