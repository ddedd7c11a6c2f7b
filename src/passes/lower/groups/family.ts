import {
  type Dim,
  type DimBindings,
  substituteDim,
  symbol,
  symbolsOf,
} from '../../../base/dim/index.js';
import { SizeChoices } from '../../../loop/language/choices.js';
import type { Expr } from '../../../loop/language/nodes.js';
import { isForAnySize } from '../../../loop/optimize/lift.js';
import type { KernelArgument, LoweredKernel } from '../nests/builder.js';
import type { KernelSignature } from '../nests/signature.js';

/** A kernel for some members of a family, which takes the sizes in which they differ. */
interface SharedKernel {
  readonly kernel: LoweredKernel;
  readonly places: readonly number[];
  readonly choices: SizeChoices;
}

/** A kernel for one member of a family, and the places of the member that it was lowered for. */
export type FamilyKernel = Pick<SharedKernel, 'kernel' | 'places'>;

/** Lowers a member whose sizes are these dimensions. */
export type LowerMember = (dims: readonly Dim[], choices: SizeChoices) => LoweredKernel;

/**
 * Groups of a program of one pattern, which differ in their sizes. Those for whose sizes a schedule chooses the same
 * loops share a kernel, which is lowered once and takes the sizes as parameters.
 */
export class KernelFamily {
  /** The sizes of the members, as in their signatures. */
  readonly #members: readonly (readonly number[])[];
  /** For each size of a signature: the size, where all members have the same, or the symbol that stands for it. */
  readonly #dims: readonly Dim[];
  /** For each symbol, the position of its number among the sizes of a signature. */
  readonly #positions: ReadonlyMap<string, number>;
  readonly #kernels: SharedKernel[] = [];
  /** True until a kernel was of no use to another member. */
  #mayShare = true;

  /** @param members Signatures of one pattern; a family has two of different keys or more. */
  constructor(members: readonly KernelSignature[]) {
    this.#members = members.map(({ sizes }) => sizes);
    const symbols = new Map<string, Dim>();
    const positions = new Map<string, number>();
    this.#dims = this.#members[0].map((size, position) => {
      const numbers = this.#members.map((sizes) => sizes[position]);
      if (numbers.every((number) => number === size)) return size;
      const key = numbers.join();
      let dim = symbols.get(key);
      if (dim === undefined) {
        const name = `size${symbols.size}_of_family`;
        dim = symbol(name, { min: Math.min(...numbers), max: Math.max(...numbers) });
        symbols.set(key, dim);
        positions.set(name, position);
      }
      return dim;
    });
    this.#positions = positions;
  }

  /** The kernel for a member; null where none is shared. `lower` makes one that is. */
  kernelFor({ sizes, places }: KernelSignature, lower: LowerMember): FamilyKernel | null {
    const numbers = this.#numbersOf(sizes);
    let shared = this.#kernels.find(({ choices }) => choices.areSameFor(numbers));
    if (shared === undefined) {
      if (!this.#mayShare) return null;
      const choices = new SizeChoices(numbers);
      shared = { kernel: lower(this.#dims, choices), places, choices };
      this.#mayShare = this.#isUseful(shared);
      if (!this.#mayShare) return null;
      this.#kernels.push(shared);
    }
    return { kernel: boundTo(shared.kernel, numbers), places: shared.places };
  }

  #isUseful({ kernel: { kernel, args }, choices }: SharedKernel): boolean {
    const own = new Set<Expr>();
    kernel.params.forEach((param, k) => {
      const arg = args[k];
      if (param.kind === 'var' && arg.kind === 'size' && this.#isOwn(arg.dim)) own.add(param);
    });
    if (!isForAnySize(kernel, own)) return false;
    const served = this.#members.filter((sizes) => choices.areSameFor(this.#numbersOf(sizes)));
    return served.length > 1;
  }

  #isOwn(dim: Dim): boolean {
    for (const name of symbolsOf(dim)) if (this.#positions.has(name)) return true;
    return false;
  }

  #numbersOf(sizes: readonly number[]): DimBindings {
    const numbers = new Map<string, number>();
    for (const [name, position] of this.#positions) numbers.set(name, sizes[position]);
    return numbers;
  }
}

function boundTo({ kernel, args, grains }: LoweredKernel, numbers: DimBindings): LoweredKernel {
  return {
    kernel,
    args: args.map((arg): KernelArgument => {
      if (arg.kind === 'size') return { ...arg, dim: substituteDim(arg.dim, numbers) };
      return arg.kind === 'scratch' ? { ...arg, length: substituteDim(arg.length, numbers) } : arg;
    }),
    grains: grains === null ? null : substituteDim(grains, numbers),
  };
}
