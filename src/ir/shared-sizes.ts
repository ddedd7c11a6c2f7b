import type { Dim } from '../base/dim/index.js';
import { attributesKey } from '../base/attributes/key.js';
import type { Attributes } from '../base/attributes/schema.js';
import type { InferContext, Operator } from './operator.js';

type Fresh = InferContext['fresh'];

/**
 * Structural key of an operand's computation; `numberOf` numbers other objects. Null for an operand that is
 * equal to itself only.
 */
export type Describe = (object: object, numberOf: (object: object) => number) => string | null;

/** Longest chain of calls that is compared. */
const deepest = 64;

/**
 * Value numbering of data-dependent sizes: two calls that select by the same mask give results of the same
 * size, so that their results may be added.
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

  /** The fresh sizes for the inference of a call; `fresh` makes those that no equal call has decided yet. */
  freshFor(op: Operator, operands: readonly object[], attributes: Attributes, fresh: Fresh): Fresh {
    if (op.sizedBy === undefined) return fresh;
    const deciding = [op, ...op.sizedBy.map((k) => operands[k])].map((each) => this.#number(each));
    const key = `${deciding.join()}${attributesKey(op, attributes)}`;
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
