import { type DimExpr, symbolsOf } from '../base/dim/index.js';
import { symbolsOfAttributes } from '../base/attributes/schema.js';
import type { CallNode, CheckNode, Value } from './program.js';
import { dimsOf } from './requirement.js';

const none: ReadonlySet<string> = new Set();

/**
 * Sources of the sizes of a program: the first value whose type mentions each. If that value is not an input,
 * the data of a call decides the size.
 */
export class SizeSources {
  readonly #sources: Map<string, Value> = new Map();
  readonly #decided: Map<string, Value> = new Map();
  /** Keys of the dimensions seen so far. */
  readonly #seen: Set<string> = new Set();

  /** Records the results of a new node. */
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

  /** Data-dependent sizes, each with the result that reveals it. */
  get decided(): ReadonlyMap<string, Value> {
    return this.#decided;
  }

  /** Data-decided sizes that a call or a check refers to. */
  decidedIn(node: CallNode | CheckNode): ReadonlySet<string> {
    if (this.#decided.size === 0) return none;
    const found = new Set<string>();
    for (const name of symbolsOfNode(node)) if (this.#decided.has(name)) found.add(name);
    return found;
  }
}

function symbolsOfNode(node: CallNode | CheckNode): ReadonlySet<string> {
  if (node.kind === 'call') return symbolsOfCall(node);
  const names = new Set<string>();
  for (const dim of dimsOf(node.requirement)) symbolsOf(dim, names);
  return names;
}

/** The symbols that a call's results and attributes speak of. */
export function symbolsOfCall({ op, attributes, types }: CallNode): ReadonlySet<string> {
  const names = new Set(symbolsOfAttributes(op.attributes, attributes).keys());
  for (const { shape } of types) {
    for (const dim of shape) if (typeof dim !== 'number') symbolsOf(dim, names);
  }
  return names;
}
