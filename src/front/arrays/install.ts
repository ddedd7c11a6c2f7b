import { convertDType } from '../dispatch/dispatch.js';
import { backward } from '../autograd/backward.js';
import { installDynamicSizes } from '../dispatch/dynamic-sizes.js';
import { computeLazy, sizedType, visibleElements } from '../dispatch/lazy.js';
import { rowsOf } from './iterate-rows.js';
import { installMethods } from './install-methods.js';
import { typeToString } from '../../ir/program.js';
import { installArrayRuntime, NDArray } from '../core/ndarray.js';
import { assignArray, attachGrad, detach, gradOf } from '../dispatch/values.js';

let isInstalled = false;

/** Makes arrays ready for use. Called by every module from which they can be made. */
export function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  // Arrays are defined below everything that works on them; here they get what they need from above.
  installArrayRuntime({
    compute: (array) => computeLazy([array]),
    visible: visibleElements,
    sizedType,
    backward,
    attachGrad,
    gradOf,
    detach,
    assign: assignArray,
    cast: convertDType,
    rows: rowsOf,
  });
  installMethods();
  installDynamicSizes();

  // What `console.log` prints in Node. An array that is still lazy is described, not computed.
  Object.defineProperty(NDArray.prototype, Symbol.for('nodejs.util.inspect.custom'), {
    value(this: NDArray): string {
      return this.elements === null ? `<lazy ${typeToString(this.type)}>` : this.toString();
    },
  });
}
