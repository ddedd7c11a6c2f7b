import type { Dim } from '../base/dim/index.js';
import type { Attributes } from '../base/attributes/schema.js';
import { CallLabels, type CallParts } from './call-labels.js';
import type { InferContext, Operator } from './operator.js';
import { DistinctPrograms } from './same-program.js';

type Fresh = InferContext['fresh'];

/** The call that an operand is a result of. */
export interface Computation extends CallParts {
  /** Operands, or texts that are equal for operands which count as equal. */
  readonly operands: readonly (object | string)[];
  readonly port: number;
}

/**
 * Computation of an operand, or the text of a constant. Null for an operand that is equal to itself only.
 */
export type Describe = (operand: object) => Computation | string | null;

/** Longest chain of calls that is compared. */
const deepest = 64;

/**
 * Value numbering of data-dependent sizes: two calls that select by the same mask give results of the same
 * size, so that their results may be added.
 */
export class SharedSizes {
  readonly #distinct: DistinctPrograms = new DistinctPrograms();
  readonly #labels: CallLabels = new CallLabels((region) => this.#distinct.firstLike(region));
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
    const label = this.#labels.of({ op, attributes, regions: [] });
    const key = [label, ...op.sizedBy.map((k) => this.#number(operands[k], 0))].join();
    let sizes = this.#sizes.get(key);
    if (sizes === undefined) this.#sizes.set(key, (sizes = []));
    const known = sizes;
    let asked = 0;
    return (hint, bounds) => (known[asked++] ??= fresh(hint, bounds));
  }

  #number(operand: object, depth: number): number {
    let number = this.#numbers.get(operand);
    if (number === undefined) {
      const text = depth === deepest ? null : this.#textOf(this.#describe(operand), depth);
      number = (text === null ? undefined : this.#described.get(text)) ?? this.#next++;
      if (text !== null) this.#described.set(text, number);
      this.#numbers.set(operand, number);
    }
    return number;
  }

  #textOf(described: Computation | string | null, depth: number): string | null {
    if (described === null || typeof described === 'string') return described;
    const operands = described.operands.map((operand) =>
      typeof operand === 'string' ? operand : this.#number(operand, depth + 1),
    );
    return `${this.#labels.of(described)}.${described.port}(${operands.join()})`;
  }
}
