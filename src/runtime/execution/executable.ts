import type { Program } from '../../ir/program.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { Device } from '../memory/device.js';
import type { Tier } from './tiers.js';
import type { Storage } from '../memory/storage.js';

/** An array at rest, as it enters and leaves an executable. */
export interface Operand {
  readonly storage: Storage;
  readonly shape: readonly number[];
  /** True for plain data, which goes to wherever the other operands are. */
  readonly isConstant?: boolean;
}

export interface CompileOptions {
  /** `wasm`, or `interpreter`: the slow oracle that defines the loop IR. Default `wasm`. */
  readonly target?: 'wasm' | 'interpreter';
  /**
   * Allow sums of products to round once for each product, as relaxed SIMD does, rather than twice as the
   * interpreter does. Only where the engine supports it. Default true, unless `KAON_RELAXED` is 0.
   */
  readonly relaxed?: boolean;
  /** False compiles every operator to a kernel of its own. Default true. */
  readonly fuse?: boolean;
  /**
   * For each output that is usually written into the storage of an input (`into`), the index of that
   * input: where possible it is then computed in place. Never changes a result.
   */
  readonly replaced?: readonly (number | null)[];
  /** Device whose memory programs use. Default `cpu`. */
  readonly device?: Device;
  /**
   * `wasm` stays there, `native` waits for native code at the first run, `auto` switches to it when a program
   * has run for some time. Without native code, programs run on wasm. Default: that of the process.
   */
  readonly tier?: Tier;
}

/** Execution tier of a program or one of its parts. */
export interface TierReport {
  /** Its role in the whole; empty when it is the whole. */
  readonly part: string;
  readonly tier: 'wasm' | 'native' | 'interpreter';
  /** The first native run; null when it is not native. */
  readonly since: number | null;
  /** Reason why it is not native, or not yet; null when it is. */
  readonly reason: string | null;
  /** Problem of the native code cache, or of threads; null for none. */
  readonly note: string | null;
}

/**
 * A compiled program. Symbolic dimensions are bound at each run from the operands and the sizes that it is passed, or
 * from the data during the run.
 */
export interface Executable {
  /** The program that was passed to `compile`. */
  readonly program: Program;
  /**
   * Runs on operands in the order of the program's inputs; their dtypes and shapes must fit (otherwise a
   * `ShapeError` or `DTypeError` names the input). `into[k]`, where given, receives output k in place and may
   * be the storage of an operand; every other output gets fresh storage. `sizes` are for the size parameters of the
   * program. Default none.
   */
  run(
    inputs: readonly Operand[],
    into?: readonly (Storage | null)[],
    sizes?: readonly number[],
  ): readonly Operand[];
  /** Releases its memory at once; it must not be run again. Otherwise a finalizer does. */
  release(): void;
  /** Execution tiers, part by part. */
  tiers(): readonly TierReport[];
  /** The groups, the generated kernels and the buffers as text, for people. */
  toString(): string;
}

/** A compiled program that exposes its parts. */
export interface Inspectable extends Executable {
  parts(): readonly { readonly title: string; readonly plan: ProgramPlan }[];
}
