import { convertedText } from '../../base/directive.js';

type AnyFunction = (...args: never[]) => unknown;

/** The functions that captured ones were made from. */
const originals = new WeakMap<object, AnyFunction>();

/** Notes the function that another one runs. */
export function setOriginal(wrapper: object, fn: AnyFunction): void {
  originals.set(wrapper, fn);
}

/** The function that the user wrote; the given one where it is that itself. */
export function originalOf(fn: AnyFunction): AnyFunction {
  let original = fn;
  for (let inner: AnyFunction | undefined = fn; inner !== undefined; inner = originals.get(inner)) {
    original = inner;
  }
  return original;
}

/** The text about the branches and loops of a function; null for one that was not converted. */
export function constructText(fn: AnyFunction): string | null {
  return convertedText(Function.prototype.toString.call(originalOf(fn)));
}
