import { FormatError, GraphError } from '../../base/errors.js';

/** Public function named in errors about models. */
export const op = 'fromOnnx';

/** The error for a damaged file. */
export function damaged(problem: string, expected?: string, actual?: string): FormatError {
  return new FormatError(problem, {
    op,
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
  });
}

/** The error for a graph that breaks ONNX's rules. */
export function illFormed(problem: string, expected?: string, actual?: string): GraphError {
  return new GraphError(problem, {
    op,
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
  });
}

/** A name of the model in a message: quoted, and truncated when it is long. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 77)}...` : name);
}

/** An int64 of a file as a number. */
export function safeInteger(value: bigint, what: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw damaged(`${what} is too large`, 'an integer of at most 53 bits', String(value));
}
