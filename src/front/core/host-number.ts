import { type ArrayType, arrayType } from './array-type.js';
import { arrayOf, type NDArray } from './ndarray.js';

/** A number of the host that captured code depends on, such as a learning rate. */
export interface HostNumber {
  /** The name of its input. */
  readonly name: string;
  /** The number at the time of a call. */
  read(): number;
  /** True when it depends on the number of calls so far. */
  varies?(): boolean;
}

export const hostNumberType: ArrayType = arrayType('float32', []);

/** The current number of a source. */
export function numberArray(source: HostNumber): NDArray {
  return arrayOf(hostNumberType, Float32Array.of(source.read()));
}
