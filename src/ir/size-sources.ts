import { type DimExpr, symbolsOf } from '../base/dim/index.js';
import { symbolsOfAttributes } from '../base/attributes/schema.js';
import type { CallNode, Value } from './program.js';

const none: ReadonlySet<string> = new Set();

/**
 * Where the sizes of a program come from: the first value whose type speaks of each. Where that is no input, the
 * data of a call decides the size.
 */
export class SizeSources {
  readonly #sources: Map<string, Value> = new Map();
  readonly #decided: Map<string, Value> = new Map();
  /** The keys of the dimensions there have been. */
  readonly #seen: Set<string> = new Set();

  /** Takes in the results of a new node. */
  add(values: readonly Value[], isInput: boolean): void {
    for (let i = 0; i < values.length; i++) {
      const { shape } = values[i].type;
      for (let axis = 0; axis < shape.length; axis++) {
        const dim = shape[axis];
        if (typeof dim !== 'number') this.#addDim(dim, values[i], isInput);
      }
    }
  }

  #addDim(dim: DimExpr, value: Value, isInput: boolean): void {
    if (this.#seen.has(dim.key)) return;
    this.#seen.add(dim.key);
    for (const name of symbolsOf(dim)) {
      if (this.#sources.has(name)) continue;
      this.#sources.set(name, value);
      if (!isInput) this.#decided.set(name, value);
    }
  }

  /** The sizes that data decides, each with the result that tells it. */
  get decided(): ReadonlyMap<string, Value> {
    return this.#decided;
  }

  /** Those of them that a call speaks of. */
  decidedIn(call: CallNode): ReadonlySet<string> {
    if (this.#decided.size === 0) return none;
    const found = new Set<string>();
    for (const name of symbolsOfCall(call)) if (this.#decided.has(name)) found.add(name);
    return found;
  }
}

/** The symbols that a call's results and attributes speak of. */
export function symbolsOfCall({ op, attributes, types }: CallNode): ReadonlySet<string> {
  const names = new Set(symbolsOfAttributes(op.attributes, attributes).keys());
  for (const { shape } of types) {
    for (const dim of shape) if (typeof dim !== 'number') symbolsOf(dim, names);
  }
  return names;
}
