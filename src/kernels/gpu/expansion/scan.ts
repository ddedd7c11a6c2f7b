import { boundsOf, type Dim, elementCount, isStatic } from '../../../base/dim/index.js';
import type { Attributes } from '../../../base/attributes/schema.js';
import type { Operator } from '../../../ir/operator.js';
import type { Declaration } from '../../../ops/declare/declare.js';
import type { DeviceExpansion } from '../../../ops/declare/kernels.js';
import { flatten } from '../../../ops/index.js';
import { declaredScan } from '../../../ops/reduction/scans/scan.js';
import { registry } from '../../../ops/registry.js';
import { scanBlock } from '../scan/scan-shape.js';
import { type ScanSteps, scanSteps } from '../scan/steps.js';

/*
 * Scans of few long rows in two dispatches: the states of blocks, and the results, where each block begins with what the
 * blocks before it come to. The order follows from the sizes alone.
 */

interface ScanAttributes extends Attributes {
  readonly axis: number | null;
}

/** The expansion of an operator that is declared as a scan. */
function scanExpansion(declaration: Declaration): readonly [Operator, DeviceExpansion] {
  let steps: ScanSteps | null = null;
  const expansion: DeviceExpansion<ScanAttributes> = ({
    attributes,
    inputs,
    outputTypes: [{ dtype, shape }],
  }) => {
    const { axis } = attributes;
    const along = axis === null ? 0 : axis < 0 ? axis + shape.length : axis;
    const sizes = {
      length: sizeOf([shape[along]]),
      neighbors: sizeOf(shape.slice(along + 1)),
      rows: sizeOf(shape.toSpliced(along, 1)),
    };
    const blockLength = scanBlock(sizes, boundsOf(shape[along]).max);
    if (blockLength === null || sizes.rows === 0) return null;
    const operands = axis === null ? inputs.map((each) => flatten(each)) : inputs;
    steps ??= scanSteps(declaration, inputs.length);
    const given = { ...attributes, axis: along, blockLength, resultDType: dtype };
    return [steps.results([...operands, ...steps.totals(operands, given)], given)];
  };
  // An expansion is given the attributes of calls of its operator only.
  return [declaration, expansion as DeviceExpansion<never> as DeviceExpansion];
}

/** The number of elements of a shape; infinite where it is not known. */
function sizeOf(shape: readonly Dim[]): number {
  return shape.every(isStatic) ? Number(elementCount(shape)) : Infinity;
}

/** The expansions of scans. */
export const scanExpansions: readonly (readonly [Operator, DeviceExpansion])[] = [
  ...registry.values(),
].filter((declaration) => declaredScan(declaration) !== null).map(scanExpansion); // prettier-ignore
