import { KernelCache } from '../../loop/optimize/cache.js';
import { optimizeModule } from '../../loop/optimize/module.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { Target } from '../../loop/language/target.js';
import type { ProgramPlan } from '../../passes/lower/main/plan.js';
import type { EntryPoint } from '../execution/entry.js';
import type { PlannedCode } from '../execution/executor.js';
import type { Device } from '../memory/device.js';
import { nativeTier } from '../native/current.js';
import { loaderBase } from '../native/library.js';
import type { NativeCode, NativeRequest } from '../native/tier.js';

/** Plans a program for a target; with a kernel `mark` as in `lowerProgram`. */
export type ProgramLowering = (target: Target, mark: Kernel | null) => ProgramPlan;

/** Shared by all programs: what one has optimized, no other does again. */
const optimizedKernels = new KernelCache();

/** A program that is to become native code, with its plan. */
export class NativeAttempt implements NativeRequest {
  /** Null until the processor is known. */
  #plan: ProgramPlan | null = null;
  readonly #request: NativeRequest;

  constructor(lower: ProgramLowering, mark: Kernel | null = null) {
    this.#request = nativeTier().request((target) => {
      this.#plan = lower({ ...target, addresses: 'i64' }, mark);
      return optimizeModule(this.#plan.module, target, optimizedKernels);
    });
  }

  poll(): NativeCode | string | null {
    return this.#request.poll();
  }

  wait(): NativeCode | string | null {
    return this.#request.wait();
  }

  /** The code that was made, to be run on a device. */
  planned(code: NativeCode, device: Device): PlannedCode {
    const plan = this.#plan!; // there has been code since
    return { plan, entry: entryOf(code, plan, device) };
  }
}

function entryOf(
  { run, file, name }: NativeCode,
  { threads }: ProgramPlan,
  device: Device,
): EntryPoint {
  // Of the buffer its first byte is enough: native code gets its address.
  let known: Uint8Array = new Uint8Array(0);
  const bytes = (): Uint8Array => {
    const { buffer } = device;
    return known.buffer === buffer ? known : (known = new Uint8Array(buffer, 0, 1));
  };
  if (threads === 1) return (table) => run(bytes(), table);
  const { pool } = device;
  const own = (table: number, thread: number, count: number): void =>
    run(bytes(), table, pool.meetingAddress, thread, count);
  return pool.entry(
    { kind: 'native', library: file, symbol: name, from: loaderBase },
    own,
    threads,
  );
}
