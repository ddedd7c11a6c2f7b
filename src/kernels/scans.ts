import type { Attributes } from '../base/attributes/schema.js';
import type { Operator } from '../ir/operator.js';
import type { Stmt } from '../loop/language/nodes.js';
import { type DeviceKernel, kernelFor } from '../ops/declare/kernels.js';
import type { KernelContext } from '../ops/declare/lowering.js';
import type { Scan } from '../ops/declare/scan.js';
import { declaredScan, scanContext } from '../ops/reduction/scans/scan.js';
import { registry } from '../ops/registry.js';

/** Kernels of all operators that are declared as scans; where `kernel` is null, the loops of the declaration. */
export function scanKernels(
  kernel: (context: KernelContext<Attributes>, scan: Scan) => Stmt | null,
): readonly (readonly [Operator, DeviceKernel])[] {
  return [...registry.values()].flatMap((declaration) => {
    const { lowering } = declaration;
    const scan = declaredScan(declaration);
    if (scan === null || lowering.kind !== 'kernel') return [];
    const made: DeviceKernel = (context) =>
      kernel(context, scan(scanContext(context))) ?? lowering.kernel(context);
    return [kernelFor({ declaration }, made)];
  });
}
