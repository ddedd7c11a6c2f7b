import { scalarBytes } from '../../loop/language/build.js';
import type { Scalar } from '../../loop/language/nodes.js';
import { laneScalar, scalarTypes, vectorType } from './types.js';

/** Dialect of vector code: the extensions of GCC and Clang, or plain C99. */
export interface Dialect {
  readonly name: 'gnu' | 'c99';
  /** Declares the type of a vector. */
  vector(scalar: Scalar, lanes: number): string;
  /** One lane of a variable, to be read or assigned. */
  lane(variable: string, lane: string): string;
  /** True when arithmetic works on whole vectors. */
  readonly hasVectorArithmetic: boolean;
  /** True when the dialect has threads and barriers; otherwise a module is single-threaded. */
  readonly hasThreads: boolean;
}

export const gnu: Dialect = {
  name: 'gnu',
  vector: (scalar, lanes) => {
    const bytes = lanes * scalarBytes(laneScalar(scalar));
    return `typedef ${scalarTypes[scalar]} ${vectorType(scalar, lanes)} __attribute__((vector_size(${bytes})));`;
  },
  lane: (variable, lane) => `${variable}[${lane}]`,
  hasVectorArithmetic: true,
  hasThreads: true,
};

export const c99: Dialect = {
  name: 'c99',
  vector: (scalar, lanes) =>
    `typedef struct { ${scalarTypes[scalar]} e[${lanes}]; } ${vectorType(scalar, lanes)};`,
  lane: (variable, lane) => `${variable}.e[${lane}]`,
  hasVectorArithmetic: false,
  hasThreads: false,
};
