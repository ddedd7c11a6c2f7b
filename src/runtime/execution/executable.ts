import type { Program } from '../../ir/program.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { Device } from '../memory/device.js';
import type { Tier } from './tiers.js';
import type { Storage } from '../memory/storage.js';

/** An array at rest, as it enters and leaves an executable. */
export interface Operand {
  readonly storage: Storage;
  readonly shape: readonly number[];
}

export interface CompileOptions {
  /** `wasm`, or `interpreter`: the slow oracle that defines the loop IR. Default `wasm`. */
  readonly target?: 'wasm' | 'interpreter';
  /**
   * Whether sums of products may round once for each product, as relaxed SIMD does, rather than twice as
   * the interpreter does. Only where the engine has that. Default true, unless `KAON_RELAXED` is 0.
   */
  readonly relaxed?: boolean;
  /** False compiles every operator to a kernel of its own. Default true. */
  readonly fuse?: boolean;
  /**
   * For each output that is usually written into the storage of an input (`into`), the index of that
   * input: where possible it is then computed in place. Never changes a result.
   */
  readonly replaced?: readonly (number | null)[];
  /** Whose memory programs work on. Default `cpu`. */
  readonly device?: Device;
  /**
   * `wasm` stays there, `native` waits for native code at the first run, `auto` goes over to it when a
   * program has run for some time. Where there is no native code, programs run on wasm. Default: that of
   * the process.
   */
  readonly tier?: Tier;
}

/** The code that a program, or one of its parts, runs as. */
export interface TierReport {
  /** What it is of the whole; empty for all of it. */
  readonly part: string;
  readonly tier: 'wasm' | 'native' | 'interpreter';
  /** The run from which on it is native; null where it is not. */
  readonly since: number | null;
  /** Why it is not native, or not yet; null where it is. */
  readonly reason: string | null;
  /** What is wrong with the place where native code is kept, or with threads; null for nothing. */
  readonly note: string | null;
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
  /** The code that it runs as, part by part. */
  tiers(): readonly TierReport[];
  /** The groups, the generated kernels and the places in memory as text, for people. */
  toString(): string;
}

/** A compiled program that can show what it consists of. */
export interface Inspectable extends Executable {
  parts(): readonly { readonly title: string; readonly plan: ProgramPlan }[];
}
