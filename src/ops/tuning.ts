import type { Attributes } from '../base/attributes/schema.js';
import type { DType } from '../base/dtype.js';
import type { Operator } from '../ir/operator.js';
import type { Target } from '../loop/language/target.js';

/** Operand of a call that kernels are measured on. */
export interface TunedOperand {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** True where the last two axes lie in memory in the other order. */
  readonly isTurned: boolean;
}

/** A call that stands for all of a size class. */
export interface TunedCall {
  readonly operator: Operator;
  readonly attributes: Attributes;
  readonly operands: readonly TunedOperand[];
}

/** Alternatives of a kernel that compute the same, of which only a measurement tells the fastest. */
export interface KernelChoice<C> {
  /** Operator and kind of kernel. */
  readonly kernel: string;
  /** Everything else that the fastest alternative depends on, sizes rounded. */
  readonly sizeClass: string;
  /** By name; the first one is what is taken without a measurement. */
  readonly candidates: ReadonlyMap<string, C>;
  /** Part of the largest result by which candidates may differ; 0 where they sum the same products. */
  readonly margin: number;
  /** A call to measure; null where its sizes are not known. */
  call(): TunedCall | null;
}

/** Choices among the kernels of a device. A plan is given the same answers throughout. */
export interface KernelTuning {
  choose<C>(choice: KernelChoice<C>): C;
}

/** Target of a kernel. */
export interface KernelTarget extends Target {
  /** Default: the first of all candidates. */
  readonly tuning?: KernelTuning;
}

/** The first candidate. */
export function usualChoice<C>({ candidates }: KernelChoice<C>): C {
  const [first] = candidates.values();
  return first;
}
