import { type Bounds, type DimExpr, symbol, symbolsOf } from '../base/dim/index.js';
import type { TensorType } from './types.js';

/**
 * Symbols that no other dimension of a program uses. Names are collected when one is asked for: few programs need
 * them.
 */
export class FreshDims {
  /** Symbols of the program that this one is made from, while it is: its later nodes may yet be copied. */
  origin: FreshDims | undefined;
  /** The results of the program's nodes so far. */
  readonly #results: readonly (readonly { readonly type: TensorType }[])[];
  /** The names in the first `#scanned` of them, and of origins. */
  readonly #names: Set<string> = new Set();
  #scanned = 0;
  readonly #counts: Map<string, number> = new Map();

  constructor(results: readonly (readonly { readonly type: TensorType }[])[]) {
    this.#results = results;
  }

  /** Excludes a name that no result has. */
  exclude(name: string): void {
    this.#names.add(name);
  }

  fresh(hint: string, bounds?: Partial<Bounds>): DimExpr {
    this.#scan();
    const stem = hint.replace(/_\d+$/, '');
    let count = this.#counts.get(stem) ?? 0;
    while (this.#names.has(`${stem}_${count}`)) count++;
    this.#counts.set(stem, count + 1);
    return symbol(`${stem}_${count}`, bounds);
  }

  #scan(): void {
    if (this.origin !== undefined) {
      this.origin.#scan();
      for (const name of this.origin.#names) this.#names.add(name);
      this.origin = undefined;
    }
    for (; this.#scanned < this.#results.length; this.#scanned++) {
      for (const { type } of this.#results[this.#scanned]) {
        for (const dim of type.shape) {
          if (typeof dim !== 'number') symbolsOf(dim, this.#names);
        }
      }
    }
  }
}
