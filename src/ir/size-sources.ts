import { type Dim, type DimExpr, symbolsOf } from '../base/dim/index.js';
import { mapAttributeDims } from '../base/attributes/schema.js';
import type { CallNode, CheckNode, DecidedSize, Value } from './program.js';
import { dimsOf } from './requirement.js';
import type { TensorType } from './types.js';

const none: ReadonlySet<string> = new Set();

/** Sources of the sizes of a program: it is passed them, inputs bring them, or calls state that their data decides them. */
export class SizeSources {
  readonly #given: Set<string> = new Set();
  readonly #decided: Map<string, Value> = new Map();

  /** Records a size parameter. */
  take({ key }: DimExpr): void {
    this.#given.add(key);
  }

  /** Records the sizes in the type of a new input. Those that a call has decided before remain the call's. */
  give({ shape }: TensorType): void {
    for (const dim of shape) {
      if (typeof dim === 'number') continue;
      for (const name of symbolsOf(dim)) if (!this.#decided.has(name)) this.#given.add(name);
    }
  }

  /** Records the sizes that a new call decides. Of calls that share a size the first is its source. */
  decide(decides: readonly DecidedSize[], results: readonly Value[]): void {
    for (const { size } of decides) {
      const name = nameOfSize(size);
      if (name === null || this.isKnown(name)) continue;
      const reveals = results.find(({ type }) =>
        type.shape.some((dim) => typeof dim !== 'number' && symbolsOf(dim).has(name)),
      );
      this.#decided.set(name, reveals ?? results[0]);
    }
  }

  /** True for a size that the program is passed, an input brings or a call decides. */
  isKnown(name: string): boolean {
    return this.#given.has(name) || this.#decided.has(name);
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

/** Name of a dimension that is a symbol; null for one that has been replaced by a number or an expression. */
export function nameOfSize(size: DecidedSize['size']): string | null {
  if (typeof size === 'number') return null;
  const [name] = symbolsOf(size);
  return name === (size satisfies DimExpr).key ? name : null;
}

function symbolsOfNode(node: CallNode | CheckNode): ReadonlySet<string> {
  if (node.kind === 'call') return symbolsOfCall(node);
  const names = new Set<string>();
  for (const dim of dimsOf(node.requirement)) symbolsOf(dim, names);
  return names;
}

/** The symbols that a call's results and attributes speak of. */
export function symbolsOfCall({ op, attributes, types }: CallNode): ReadonlySet<string> {
  let names: Set<string> | undefined;
  const note = (dim: Dim): Dim => {
    if (typeof dim !== 'number') symbolsOf(dim, (names ??= new Set()));
    return dim;
  };
  mapAttributeDims(op.attributes, attributes, note);
  for (let i = 0; i < types.length; i++) types[i].shape.forEach(note);
  return names ?? none;
}
