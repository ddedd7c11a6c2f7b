import type { Kernel, Module } from '../../loop/language/nodes.js';
import { type Dialect, gnu } from './dialect.js';
import { Helpers } from './helpers.js';
import { kernelToC, pointerName } from './kernel.js';

export type { Dialect } from './dialect.js';
export { c99, gnu } from './dialect.js';

/** A module as C source: a prologue and functions. */
export interface CModule {
  /** Complete source, ready to compile. Functions have internal linkage. */
  readonly source: string;
  /** The name of a kernel's function, which takes the memory and then the kernel's parameters. */
  nameOf(kernel: Kernel): string;
  /** The name of the pointer to the function that an external kernel runs. */
  pointerOf(kernel: Kernel): string;
}

/**
 * Prints a loop IR module as C. It needs only `math.h`; with `gnu` vectors are those of GCC and Clang, with
 * `c99` they are structures. Compile with `-ffp-contract=off` where results must equal the interpreter's bit
 * by bit.
 */
export function moduleToC(module: Module, dialect: Dialect = gnu): CModule {
  const names = new Map(module.kernels.map((kernel, i) => [kernel, `kernel_${i}_${kernel.name}`]));
  const nameOf = (kernel: Kernel): string => names.get(kernel)!;
  const helpers = new Helpers(dialect);
  const functions = module.kernels.map((kernel) => kernelToC(kernel, helpers, nameOf));
  const includes = ['math.h', 'stddef.h', 'stdint.h', 'string.h'];
  const source = [
    includes.map((name) => `#include <${name}>`).join('\n'),
    helpers.text,
    functions.join('\n'),
  ].join('\n\n');
  return { source, nameOf, pointerOf: (kernel) => pointerName(nameOf(kernel)) };
}
