import type { Attributes } from '../../../base/attributes/schema.js';
import type { NodeId } from '../../../graph/graph.js';
import type { CallNode } from '../../../ir/program.js';
import type { Stmt } from '../../../loop/language/nodes.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { KernelLowering, Sink } from '../../../ops/declare/lowering.js';
import type { KernelScope } from './scope.js';
import type { PackedLifetime } from './steady.js';

/**
 * The loops of an operator that is neither a point nor a reduction, over operands and sinks of the compiler's choice:
 * those of the device where it has a kernel for the operator, else those of the declaration.
 */
export function kernelNest(
  scope: KernelScope,
  node: NodeId,
  call: CallNode,
  lowering: KernelLowering<Attributes>,
  sinks: readonly Sink[],
  target: DeviceTarget,
  isDivided: boolean,
  steady: PackedLifetime | null,
): Stmt {
  const operands = scope.program.operands(node);
  // Kernels for a grid are made of workgroups.
  const isScheduled = target.isGrid !== true || isDivided;
  const kernel = (isScheduled ? target.kernels.get(call.op) : undefined) ?? lowering.kernel;
  return kernel({
    attributes: call.attributes,
    inputs: operands.map((operand) => scope.access(operand)),
    outputs: sinks,
    inputTypes: operands.map(({ type }) => type),
    outputTypes: call.types,
    target,
    isDivided,
    extent: (dim) => scope.builder.extents.extent(dim),
    scratch: (name, dtype, length) => scope.builder.scratch(name, dtype, length),
    keeper: steady === null ? null : scope.builder.keeper(steady),
  });
}
