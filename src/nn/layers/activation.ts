import {
  callable,
  checkArgument,
  nearestAdvice,
  type ValueRule,
} from '../../base/attributes/options.js';
import type { NDArray } from '../../front/core/ndarray.js';
import * as operators from '../../ops/index.js';
import type { Unary } from '../../ops/signatures.js';
import { HybridBlock } from '../block.js';
import { checkInput } from '../input.js';

/** An elementwise function by its operator's name, or any function of one array. */
export type Activation = ActivationName | ((x: NDArray) => NDArray);

/** Names of operators that take exactly one array. */
export type ActivationName = {
  [K in keyof typeof operators]: (typeof operators)[K] extends Unary ? K : never;
}[keyof typeof operators];

const byName: ReadonlyMap<string, unknown> = new Map(Object.entries(operators));

/** Rule for activations. */
export const activationRule: ValueRule<Activation> = {
  expected: 'the name of an operator of one array, such as relu, or a function',
  accepts: (value): value is Activation =>
    typeof value === 'string' ? typeof byName.get(value) === 'function' : callable.accepts(value),
  advise: (value) => nearestAdvice(value, activationNames()),
};

/** Names of activations. */
function activationNames(): readonly string[] {
  return [...byName].flatMap(([name, value]) => (typeof value === 'function' ? [name] : []));
}

/** The function of an activation; null for none. */
export function activationFunction(
  activation: Activation | null | undefined,
): ((x: NDArray) => NDArray) | null {
  if (activation === null || activation === undefined) return null;
  if (typeof activation === 'function') return activation;
  return byName.get(activation) as (x: NDArray) => NDArray;
}

/** A block from a function of one array, for use in a `Sequential`. */
export class Lambda extends HybridBlock {
  readonly #apply: (x: NDArray) => NDArray;

  constructor(activation: Activation) {
    super();
    checkArgument('Lambda', 'activation', activation, activationRule);
    this.#apply = activationFunction(activation)!;
  }

  override forward(x: NDArray): NDArray {
    checkInput(this, 'x', x);
    return this.#apply(x);
  }
}
