import type { Attributes } from '../../base/attributes/schema.js';
import { isStatic } from '../../base/dim/index.js';
import type { Operator } from '../../ir/operator.js';
import type { TensorType } from '../../ir/types.js';
import type { KernelContext } from '../../ops/declare/lowering.js';
import { type KernelChoice, type KernelTuning, type TunedCall, usualChoice } from '../../ops/tuning.js'; // prettier-ignore

/** The call for which a kernel is made. */
export interface KernelCall {
  readonly operator: { readonly declaration: Operator };
  readonly attributes: unknown;
  readonly types: readonly TensorType[];
  readonly tuning: KernelTuning | undefined;
  /** True where operands may lie in memory with their last two axes exchanged. */
  readonly mayTurn: boolean;
}

/** The call of an operator for which a kernel is made. */
export function kernelCall(
  operator: { readonly declaration: Operator },
  { attributes, inputTypes: types, target: { tuning } }: KernelContext<unknown>,
  mayTurn: boolean = false,
): KernelCall {
  return { operator, attributes, types, tuning, mayTurn };
}

/** One of several kernels for a call: the first candidate where nothing has been measured. */
export interface CallChoice<C> {
  /** Kind of kernel. */
  readonly kind: string;
  /** Everything besides the operator that the fastest one depends on. */
  readonly traits: readonly (string | number | boolean)[];
  /** Null for one that is not known. */
  readonly sizes: readonly (number | null)[];
  readonly candidates: ReadonlyMap<string, C>;
  /** Operands whose last two axes lie in memory in the other order. */
  readonly turned?: readonly boolean[];
  /** See `KernelChoice`. Default 0. */
  readonly margin?: number;
}

/** The candidate that the device's tuning has for a call. */
export function chosenCandidate<C>({ operator, attributes, types, tuning }: KernelCall, choice: CallChoice<C>): C {
  const { kind, traits, sizes, candidates, turned, margin = 0 } = choice;
  const { declaration } = operator;
  const question: KernelChoice<C> = {
    kernel: `${declaration.name} ${kind}`,
    sizeClass: [sizes.map(classOf).join('x'), types.map(({ dtype }) => dtype).join(), ...traits].join(' '),
    candidates,
    margin,
    call: () => callOf(declaration, attributes as Attributes, types, turned), // of a call of this operator
  };
  if (tuning === undefined || candidates.size === 1) return usualChoice(question);
  return tuning.choose(question);
} // prettier-ignore

/** Sizes between two powers of two are one class. */
function classOf(size: number | null): string {
  return size === null ? 'any' : String(size === 0 ? 0 : 2 ** Math.ceil(Math.log2(size)));
}

function callOf(
  operator: Operator,
  attributes: Attributes,
  types: readonly TensorType[],
  turned: readonly boolean[] = [],
): TunedCall | null {
  const operands = types.flatMap(({ dtype, shape }, k) =>
    shape.every(isStatic) ? [{ dtype, shape, isTurned: turned[k] === true }] : [],
  );
  return operands.length === types.length ? { operator, attributes, operands } : null;
}
