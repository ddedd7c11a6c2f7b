import { DTypeError, ShapeError } from '../../base/errors.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import { typeToString } from '../../ir/program.js';
import { cond } from '../../ops/control/index.js';
import type { Capture } from '../core/capture.js';
import { mode } from '../core/mode.js';
import type { NDArray } from '../core/ndarray.js';
import { carryOut, closeRegions, traceRegion } from '../graphs/region.js';
import { arrangedLike, namesOf, type Nested } from './nesting.js';
import { absentValues, parted, someValues } from './tracing.js';

/** The treatment of user statements that throw in a branch. */
export interface ThrowingBranches {
  /** Makes what a branch has thrown a check of the program; false for other errors. */
  readonly ends: (error: unknown) => boolean;
  /** The error where both branches throw. */
  readonly nothingLeft: () => unknown;
}

let throwing: ThrowingBranches = { ends: () => false, nothingLeft: () => undefined };

/** Installs the treatment of branches that throw. */
export function installThrowingBranches(treatment: ThrowingBranches): void {
  throwing = treatment;
}

/** Thrown where the first branch throws: the other one has to tell the types. */
const firstThrows = new Error('the first branch throws');

/** The capture of the innermost branch that is traced. */
let innermost: Capture | null = null;

/** True inside of a branch; a function that is captured for itself starts anew. */
export function isInBranch(): boolean {
  for (let at = mode.capture; at !== null; at = at.parent) if (at === innermost) return true;
  return false;
}

/** Runs a branch; null where a statement of the user's throws in it. */
function reached(branch: () => Nested): Nested | null {
  const around = innermost;
  innermost = mode.capture;
  try {
    return branch();
  } catch (error) {
    if (!throwing.ends(error)) throw error;
    return null;
  } finally {
    innermost = around;
  }
}

/** Captures a conditional as one operator. */
export function capturedCond(
  predicate: NDArray,
  then: () => Nested,
  otherwise: () => Nested,
): unknown {
  try {
    return conditional(predicate, then, otherwise, false);
  } catch (error) {
    if (error !== firstThrows) throw error;
  }
  return conditional(predicate.logicalNot(), otherwise, then, true);
}

function conditional(
  predicate: NDArray,
  then: () => Nested,
  otherwise: () => Nested,
  isSwapped: boolean,
): unknown {
  const { name: op } = cond.declaration;
  let first: Nested | null = null;
  const regions = [
    traceRegion(op, [], () => {
      first = reached(then);
      if (first === null && !isSwapped) throw firstThrows;
      return someValues(first?.leaves ?? []);
    }),
    traceRegion(op, [], () => {
      const second = reached(otherwise);
      if (second === null)
        return someValues(absentValues((first?.leaves ?? []).map(({ type }) => type)));
      const leaves = arrangedLike(op, first!, second, 'has another structure in each branch');
      checkAgreement(op, first!, leaves);
      return someValues(leaves);
    }),
  ];
  const { programs, carried, captures, sizes } = closeRegions(op, regions);
  const operands = [...carried.map(({ before }) => before), ...captures];
  const results = cond(predicate, programs[0], programs[1], operands, sizes);
  // Narrowed to null by the assignment above: the compiler does not see that the regions assign it.
  const given = first as Nested | null;
  const [leaves, after] = parted(results, [Math.max(1, given?.leaves.length ?? 0)]);
  carryOut(carried, after, regions, 'one of two');
  if (given === null) throw throwing.nothingLeft();
  return unflattenTree(given.structure, leaves.slice(0, given.leaves.length));
}

function checkAgreement(op: string, first: Nested, second: readonly NDArray[]): void {
  const names = namesOf(first);
  first.leaves.forEach(({ type }, k) => {
    const other = second[k].type;
    if (type.dtype !== other.dtype) {
      throw new DTypeError(`${names[k]} has another dtype in each branch`, {
        op,
        expected: `${type.dtype}, as the first branch gives`,
        actual: other.dtype,
        advice: 'cast one of them',
      });
    }
    if (type.shape.length === other.shape.length) return;
    throw new ShapeError(`${names[k]} has another rank in each branch`, {
      op,
      expected: `${typeToString(type)}, as the first branch gives`,
      actual: typeToString(other),
    });
  });
}
