import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import * as e from '../../loop/language/build.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { Device } from '../memory/device.js';
import type { Operand } from '../execution/executable.js';
import { Executor, type PlannedCode } from '../execution/executor.js';
import { nativeTier } from '../native/current.js';
import type { Storage } from '../memory/storage.js';
import { type KernelLabel, labelsOfSteps } from '../profile/label.js';
import { clearMarks, mark, type Recorder } from '../profile/recorder.js';
import { type ProgramLowering, NativeAttempt } from './native-attempt.js';

/** The kernel by which marked programs tell which kernel begins. Whoever runs them provides it (`profile/recorder.ts`). */
export const markKernel: Kernel = {
  ...e.kernel('mark', [e.variable('step', 'i32')], e.block()),
  isExternal: true,
};

/** Native code with marks; null where it cannot be made. */
export function markedNative(lower: ProgramLowering, device: Device): PlannedCode | null {
  const attempt = new NativeAttempt(lower, markKernel);
  const code = attempt.wait();
  if (code === null || typeof code === 'string') return null;
  return nativeTier().mark(code, mark) === null ? attempt.planned(code, device) : null;
}

/** The code of a program as it is, but for marks before its kernels. */
export class MarkedCode {
  readonly isNative: boolean;
  readonly #executor: Executor;
  readonly #labels: ReadonlyMap<number, KernelLabel>;

  constructor(
    program: Program,
    { plan, entry }: PlannedCode,
    device: Device,
    isNative: boolean,
    remake: (() => PlannedCode) | null,
  ) {
    this.isNative = isNative;
    this.#executor = new Executor(program, plan, device, entry, remake);
    this.#labels = labelsOfSteps(plan);
  }

  run(
    recorder: Recorder,
    inputs: readonly Operand[],
    into: readonly (Storage | null)[] | undefined,
    sizes: readonly number[],
  ): readonly Operand[] {
    clearMarks();
    const begin = recorder.now;
    const results = this.#executor.run(inputs, into, sizes);
    const { program } = this.#executor;
    const types = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const device = this.isNative ? 'cpu (native)' : 'cpu (wasm)';
    recorder.host('program', `program of ${this.#labels.size} kernels`, begin);
    recorder.marks(this.#labels, device, bindProgram(program, types, sizes));
    return results;
  }

  release(): void {
    this.#executor.release();
  }
}
