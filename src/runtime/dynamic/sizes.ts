import {
  boundsOf,
  type Dim,
  type DimBindings,
  evaluateDim,
  substituteDim,
  symbolsOf,
} from '../../base/dim/index.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import { refuseElements as refuseForeign } from '../../ops/declare/check.js';
import { allocate } from '../../base/dtype.js';
import { inContext, InternalError, ShapeError } from '../../base/errors.js';
import { bindShapes, substituteType } from '../../ir/bind.js';
import type { CallNode } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { BoundaryCheck } from '../../passes/host/partition.js';
import type { Operand } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';

/** The shape that a type has once its sizes are known. */
export function shapeAt({ shape }: Pick<TensorType, 'shape'>, sizes: DimBindings): number[] {
  return shape.map((dim) => evaluateDim(dim, sizes));
}

const noElements = new Storage('bool', allocate('bool', 0));

/** An operand that only tells sizes, for an input of the type that `carrierOf` gives. */
export function carrying(sizes: readonly number[]): Operand {
  return { storage: noElements, shape: [0, ...sizes] };
}

/** Takes the elements of an array for the sizes that a call says they are. */
export function bindExtents(
  { op, types: [{ shape }], source }: CallNode,
  { storage }: Operand,
  sizes: Map<string, number>,
): void {
  const at = source === undefined ? {} : { source };
  shape.forEach((dim, axis) => {
    const size = Number(storage.host[axis]);
    const { min, max } = boundsOf(dim);
    const actual = typeof dim === 'number' ? String(size) : `${dim.key} = ${size}`;
    if (size < 0) {
      throw new ShapeError('a size is negative', {
        op: op.name,
        expected: '0 or more',
        actual,
        ...at,
      });
    }
    if (size < min || size > max) {
      throw new ShapeError('a size that the data decides is outside its bounds', {
        op: op.name,
        expected: `${min} <= ${String(dim)} <= ${max}`,
        actual,
        ...at,
      });
    }
    if (isOpen(dim, sizes)) sizes.set(String(dim), size);
    else if (evaluateDim(dim, sizes) !== size) {
      const expected = String(evaluateDim(dim, sizes));
      throw new InternalError('a size is decided twice, and not alike', {
        expected,
        actual,
        ...at,
      });
    }
  });
}

/** Refuses elements that a call, whose sizes are known by now, would refuse eagerly. */
export function checkBoundElements(
  { call: { op, attributes, source }, operands }: BoundaryCheck,
  { storage }: Operand,
  sizes: DimBindings,
): void {
  const types = operands.map(({ type }) => substituteType(type, sizes));
  try {
    const known = mapAttributeDims(op.attributes, attributes, (dim) => substituteDim(dim, sizes));
    refuseForeign(declarationOf(op).check!, storage.host, types, known);
  } catch (error) {
    throw inContext(error, 'in captured code', {
      op: op.name,
      ...(source !== undefined && { source }),
    });
  }
}

/** Whether a dimension is a symbol whose size is not known yet. */
function isOpen(dim: Dim, sizes: DimBindings): boolean {
  return typeof dim !== 'number' && symbolsOf(dim).has(dim.key) && !sizes.has(dim.key);
}

/** Learns the sizes that the results of a call have brought. */
export function bindResults(
  { op, types }: CallNode,
  results: readonly Operand[],
  sizes: Map<string, number>,
): void {
  const matches = types.map((type, k) => ({
    name: `result ${k}`,
    declared: type.shape,
    actual: results[k].shape,
  }));
  for (const [name, size] of bindShapes(matches, op.name, sizes)) sizes.set(name, size);
}
