import { InternalError } from '../../base/errors.js';
import * as operators from '../../ops/index.js';
import { NDArray } from '../core/ndarray.js';

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
