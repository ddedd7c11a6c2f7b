import type { HostValue } from '../../ir/host.js';
import type { Tensor } from '../../ir/types.js';
import { InternalError } from '../../base/errors.js';
import * as operators from '../../ops/index.js';
import { NDArray } from './ndarray.js';

type Operators = typeof operators;

/** The operators that arrays have as methods: every one that does not say `method: false`. */
export type MethodName = {
  [K in keyof Operators]: Operators[K] extends {
    readonly declaration: { readonly method: infer M };
  }
    ? [M] extends [false]
      ? never
      : K
    : never;
}[keyof Operators];

/** The operator's types with arrays in the place of tensors. */
type OnArrays<X> = X extends Tensor
  ? NDArray
  : X extends HostValue
    ? X
    : X extends (...args: never[]) => unknown
      ? X
      : X extends object
        ? { [K in keyof X]: OnArrays<X[K]> }
        : X;

/** The operator without its first parameter, which is the array itself. */
type Method<F> = F extends (self: never, ...rest: infer R) => infer O
  ? (...args: OnArrays<R>) => OnArrays<O>
  : never;

type MethodsOf<O, K extends keyof O> = { readonly [P in K]: Method<O[P]> };

/** Methods whose results are of a type that the options decide, which the rule above cannot carry over. */
interface MethodsByOptions {
  unique<const O extends operators.UniqueOptions = object>(
    options?: O,
  ): operators.UniqueResult<NDArray, O>;
}

/** Every operator that takes an array first, as a method of arrays. */
export type ArrayMethods = MethodsOf<Operators, Exclude<MethodName, keyof MethodsByOptions>> &
  MethodsByOptions;

/** Puts the operators on the arrays' prototype. Called once, when the front floor is loaded. */
export function installMethods(): void {
  for (const operator of Object.values(operators)) {
    if (typeof operator !== 'function' || !('declaration' in operator)) continue;
    const { name, method } = operator.declaration;
    if (!method) continue;
    if (name in NDArray.prototype) throw new InternalError(`arrays already have a member ${name}`);
    const call = operator as (...args: readonly unknown[]) => unknown;
    Object.defineProperty(NDArray.prototype, name, {
      value(this: NDArray, ...args: readonly unknown[]): unknown {
        return call(this, ...args);
      },
      writable: true,
      configurable: true,
    });
  }
}
