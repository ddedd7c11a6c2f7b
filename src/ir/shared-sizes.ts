import type { Dim } from '../base/dim/index.js';
import { type Attributes, encodeAttributes } from '../base/attributes/schema.js';
import type { InferContext, Operator } from './program.js';

type Fresh = InferContext['fresh'];

/**
 * What an operand is computed from, in a text that only equal values have in common; `numberOf` gives the
 * numbers of other objects. Null for one that is equal to itself only.
 */
export type Describe = (object: object, numberOf: (object: object) => number) => string | null;

/** Longer chains of calls are not compared. */
const deepest = 64;

/**
 * The sizes that the data of calls decides, by what decides them: two calls that select by one mask give
 * results of one size, and what follows may add them up.
 */
export class SharedSizes {
  readonly #numbers: WeakMap<object, number> = new WeakMap();
  readonly #described: Map<string, number> = new Map();
  readonly #sizes: Map<string, Dim[]> = new Map();
  readonly #describe: Describe;
  #next = 0;

  constructor(describe: Describe = () => null) {
    this.#describe = describe;
  }

  /** What the inference of a call asks for its sizes; `fresh` makes those that no call has decided yet. */
  freshFor(op: Operator, operands: readonly object[], attributes: Attributes, fresh: Fresh): Fresh {
    if (op.sizedBy === undefined) return fresh;
    const deciding = [op, ...op.sizedBy.map((k) => operands[k])].map((each) => this.#number(each));
    const key = `${deciding.join()}${JSON.stringify(encodeAttributes(op.attributes, attributes))}`;
    let sizes = this.#sizes.get(key);
    if (sizes === undefined) this.#sizes.set(key, (sizes = []));
    const known = sizes;
    let asked = 0;
    return (hint, bounds) => (known[asked++] ??= fresh(hint, bounds));
  }

  #number(object: object, depth: number = 0): number {
    let number = this.#numbers.get(object);
    if (number === undefined) {
      const text =
        depth === deepest ? null : this.#describe(object, (each) => this.#number(each, depth + 1));
      number = (text === null ? undefined : this.#described.get(text)) ?? this.#next++;
      if (text !== null) this.#described.set(text, number);
      this.#numbers.set(object, number);
    }
    return number;
  }
}
