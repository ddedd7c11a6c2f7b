import { attributesKey } from '../base/attributes/key.js';
import type { Attributes } from '../base/attributes/schema.js';
import type { Operator } from './operator.js';
import type { Program } from './program.js';

/** Everything of a call but its operands and types. */
export interface CallParts {
  readonly op: Operator;
  readonly attributes: Attributes;
  readonly regions: readonly Program[];
}

/**
 * Numbers of calls, operands aside: equal exactly for calls of the same operator with equal attributes and
 * equal regions. Calls with equal numbers and equal operands compute equal results. Operators are compared as
 * objects: two may have the same name.
 */
export class CallLabels {
  readonly #objects: WeakMap<object, number> = new WeakMap();
  readonly #labels: Map<string, number> = new Map();
  readonly #representative: (region: Program) => Program;
  #nextObject = 0;

  /** @param representative One of the regions that count as equal. Default: each equals itself only. */
  constructor(representative: (region: Program) => Program = (region) => region) {
    this.#representative = representative;
  }

  /** @param bounds Whatever else must be equal. */
  of({ op, attributes, regions }: CallParts, bounds: string = ''): number {
    const number = this.#numberOf(op);
    let text = bounds;
    for (let i = 0; i < regions.length; i++) {
      text += `:${this.#numberOf(this.#representative(regions[i]))}`;
    }
    text += attributesKey(op, attributes);
    if (text === '') return 2 * number;
    const key = `${number}${text}`;
    let label = this.#labels.get(key);
    if (label === undefined) this.#labels.set(key, (label = this.#labels.size));
    return 2 * label + 1;
  }

  #numberOf(object: object): number {
    let number = this.#objects.get(object);
    if (number === undefined) this.#objects.set(object, (number = this.#nextObject++));
    return number;
  }
}
