import type { Dim } from '../base/dim.js';
import { type Attributes, encodeAttributes } from '../base/schema.js';
import type { InferContext, Operator } from './program.js';

type Fresh = InferContext['fresh'];

/**
 * The sizes that the data of calls decides, by what decides them: two calls that select by one mask give
 * results of one size, and what follows may add them up.
 */
export class SharedSizes {
  readonly #numbers: WeakMap<object, number> = new WeakMap();
  readonly #sizes: Map<string, Dim[]> = new Map();
  #next = 0;

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

  #number(object: object): number {
    let number = this.#numbers.get(object);
    if (number === undefined) this.#numbers.set(object, (number = this.#next++));
    return number;
  }
}
