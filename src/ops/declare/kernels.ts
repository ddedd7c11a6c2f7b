import type { Attributes } from '../../base/attributes/schema.js';
import type { Operator } from '../../ir/operator.js';
import type { Stmt } from '../../loop/language/nodes.js';
import type { Value } from '../../ir/program.js';
import type { NestSchedule } from '../nests/schedule.js';
import type { DecomposeContext, KernelContext } from './lowering.js';
import type { KernelTarget, KernelTuning } from '../tuning.js';

/** A device kernel: loops for one operator, which compute what the `kernel` of its declaration defines. */
export type DeviceKernel<A = Attributes> = (context: KernelContext<A>) => Stmt;

/** The kernels that a device has of its own, by declaration. */
export type KernelTable = ReadonlyMap<Operator, DeviceKernel>;

/** Other calls in the place of one, for a device; null where the call is best as it is. */
export type DeviceExpansion<A = Attributes> = (
  context: DecomposeContext<Value, A>,
  tuning?: KernelTuning,
) => readonly Value[] | null;

/** Target of lowering: a processor, and the kernels and loops written for its kind of device. */
export interface DeviceTarget extends KernelTarget {
  readonly kernels: KernelTable;
  readonly nests: NestSchedule;
  /**
   * Operators whose kernels choose their loops by sizes through `chooseBy` alone, so that groups of different sizes may
   * share one. Default: none.
   */
  readonly choosesBySizes?: ReadonlySet<Operator>;
  /** The least bytes, as computed with, of an operand of which kernels keep packed data. Default 0. */
  readonly leastKept?: number;
  /**
   * The most arithmetic that is fused behind each result of a kernel, as a number of additions. Default: as much as
   * processors have registers for.
   */
  readonly longestEpilogue?: number;
  /** Expansions of calls before lowering, by declaration. Default: none. */
  readonly expansions?: ReadonlyMap<Operator, DeviceExpansion>;
}

/** An entry of a kernel table. */
export function kernelFor<A>(
  operator: { readonly declaration: Operator },
  kernel: DeviceKernel<A>,
): readonly [Operator, DeviceKernel] {
  // A kernel is given the attributes of calls of its operator only.
  return [operator.declaration, kernel as DeviceKernel<never> as DeviceKernel];
}
