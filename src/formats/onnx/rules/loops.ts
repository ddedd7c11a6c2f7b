import { type Dim, isStatic, sameDim } from '../../../base/dim/index.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import type { ImportedOperand, TensorOperand } from '../operand.js';
import { ImportedRegion } from '../region.js';

export interface LoopOperands {
  /** Arrays to iterate over along their first axes. */
  readonly data: readonly Value[];
  readonly states: readonly Value[];
  /** Iterate from the last row to the first. */
  readonly reverse?: boolean;
  /** The number of results with rows, from the first on, that are joined in place of stacked. Default 0. */
  readonly joined?: number;
}

export interface LoopResults {
  readonly rows: readonly Value[];
  readonly states: readonly Value[];
}

/** Body of a loop: arguments of one iteration, and access to captured values. */
export type LoopBody = (
  given: LoopResults,
  outer: (value: Value) => Value,
  region: ImportedRegion,
) => LoopResults;

/** A loop over rows: returns the stacked results and the final states. */
export function foreachRow(
  node: Pick<ImportedNode, 'region'>,
  operands: LoopOperands,
  body: LoopBody,
): LoopResults {
  return foreachRowIfFits(node, operands, body)!;
}

/** `foreachRow` of a body that may find that it is none of such a loop: then it returns null, and so does this. */
export function foreachRowIfFits(
  { region: outside }: Pick<ImportedNode, 'region'>,
  { data, states, reverse = false, joined = 0 }: LoopOperands,
  body: (...given: Parameters<LoopBody>) => LoopResults | null,
): LoopResults | null {
  const region = new ImportedRegion(outside);
  const slices = data.map(({ type: { dtype, shape } }) =>
    region.variable('row', { dtype, shape: shape.slice(1) }),
  );
  const before = states.map(({ type }) => region.variable('state', type));
  const made = body({ rows: slices, states: before }, (value) => region.use(value), region);
  if (made === null) return null;
  region.program.setOutputs(
    [...made.rows, ...made.states].map((value, i) => ({ name: `y${i}`, value })),
  );
  const captures = [...region.captures.keys()];
  const { program, sizes } = region;
  const results = ops.foreach<Value>(program, { data, states, captures, reverse, joined, sizes });
  const count = made.rows.length;
  return { rows: results.slice(0, count), states: results.slice(count) };
}

/**
 * True when a state keeps its type, as loops require. Sizes that are `open` may turn out to be equal, which is checked
 * then.
 */
export function keepsType(
  before: TensorOperand,
  after: ImportedOperand,
  isOpen: (dim: Dim) => boolean = (dim) => !isStatic(dim),
): boolean {
  return (
    after.kind === 'tensor' &&
    after.element === before.element &&
    after.type.shape.length === before.type.shape.length &&
    after.type.shape.every((dim, axis) => {
      const other = before.type.shape[axis];
      return sameDim(dim, other) || isOpen(dim) || isOpen(other);
    })
  );
}
