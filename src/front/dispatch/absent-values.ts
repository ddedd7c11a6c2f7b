/*
 * Captured code may have values that only the data tells to be there. Where such a value is an operand or a result, it
 * is read: that checks it when the graph runs.
 */

/** Reads a value, and those in lists and plain objects if `isDeep`; others are as they are. */
type ValueReading = (value: unknown, isDeep: boolean) => unknown;

let read: ValueReading = (value) => value;

/** Installs the reading of values that may be absent. */
export function installValueReading(reading: ValueReading): void {
  read = reading;
}

export function readValue<T>(value: T): T {
  return read(value, false) as T;
}

/** Reads a result of captured code. */
export function readResult<T>(value: T): T {
  return read(value, true) as T;
}
