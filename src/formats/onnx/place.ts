import { FormatError, GraphError } from '../../base/errors.js';

/** Public function named in errors about models. */
export const importOp = 'fromOnnx';

/** The error for a damaged file. */
export function damagedFile(problem: string, expected?: string, actual?: string): FormatError {
  return new FormatError(problem, { op: importOp, expected, actual });
}

/** The error for a graph that breaks ONNX's rules. */
export function illFormedGraph(problem: string, expected?: string, actual?: string): GraphError {
  return new GraphError(problem, { op: importOp, expected, actual });
}

/** A name of the model in a message: quoted, and truncated when it is long. */
export function quotedName(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 77)}...` : name);
}

/** An int64 of a file as a number. */
export function safeInteger(value: bigint, what: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw damagedFile(`${what} is too large`, 'an integer of at most 53 bits', String(value));
}
