import { DTypeError, ShapeError } from '../../base/errors.js';
import { unflattenTree } from '../../base/attributes/tree.js';
import { typeToString } from '../../ir/program.js';
import { cond } from '../../ops/control/index.js';
import type { NDArray } from '../core/ndarray.js';
import { carryOut, closeRegions, traceRegion } from '../graphs/region.js';
import { arrangedLike, namesOf, type Nested } from './nesting.js';
import { parted } from './tracing.js';

/** Captures a conditional as one operator. */
export function capturedCond(
  predicate: NDArray,
  then: () => Nested,
  otherwise: () => Nested,
): unknown {
  const { name: op } = cond.declaration;
  let first: Nested | undefined;
  const regions = [
    traceRegion(op, [], () => {
      first = then();
      return first.leaves;
    }),
    traceRegion(op, [], () => {
      const leaves = arrangedLike(op, first!, otherwise(), 'has another structure in each branch');
      checkAgreement(op, first!, leaves);
      return leaves;
    }),
  ];
  const { programs, carried, captures } = closeRegions(op, regions);
  const operands = [...carried.map(({ before }) => before), ...captures];
  const results = cond(predicate, programs[0], programs[1], operands);
  const [leaves, after] = parted(results, [first!.leaves.length]);
  carryOut(carried, after, regions, 'one of two');
  return unflattenTree(first!.structure, leaves);
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
