import type { Program } from '../ir/program.js';
import type { Device } from './device.js';
import type { Storage } from './storage.js';

/** An array at rest, as it enters and leaves an executable. */
export interface Operand {
  readonly storage: Storage;
  readonly shape: readonly number[];
}

export interface CompileOptions {
  /** `wasm`, or `interpreter`: the slow oracle that defines the loop IR. Default `wasm`. */
  readonly target?: 'wasm' | 'interpreter';
  /** False compiles every operator to a kernel of its own. Default true. */
  readonly fuse?: boolean;
  /**
   * For each output that is usually written into the storage of an input (`into`), the index of that
   * input: where possible it is then computed in place. Never changes a result.
   */
  readonly replaced?: readonly (number | null)[];
  /** Whose memory programs work on. Default `cpu`. */
  readonly device?: Device;
}

/**
 * A compiled program. Sizes of symbolic dimensions are bound from the operands at each run, or from the
 * data while it runs.
 */
export interface Executable {
  /** As it was given to `compile`. */
  readonly program: Program;
  /**
   * Runs on operands in the order of the program's inputs; their dtypes and shapes must fit (a
   * `ShapeError` or `DTypeError` names the input otherwise). `into[k]`, where given, receives output k
   * in place and may be the storage of an operand; every other output gets fresh storage.
   */
  run(inputs: readonly Operand[], into?: readonly (Storage | null)[]): readonly Operand[];
  /** Gives its memory back at once; it must not be run again. Otherwise the collector sees to it. */
  release(): void;
  /** The groups, the generated kernels and the places in memory as text, for people. */
  toString(): string;
}
