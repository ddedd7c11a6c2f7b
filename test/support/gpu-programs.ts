import { dtypes } from '../../src/base/dtype.js';
import type { Program } from '../../src/ir/program.js';
import { gpuTarget } from '../../src/kernels/gpu/index.js';
import type { DeviceTarget } from '../../src/ops/declare/kernels.js';
import type { Kernel } from '../../src/loop/language/nodes.js';
import type { MainStep } from '../../src/passes/lower/main/steps.js';
import { planSteps } from '../../src/passes/lower/main/stepwise.js';
import { runPipeline } from '../../src/passes/pipeline.js';
import { DeviceExecutable } from '../../src/runtime/device/executable.js';
import { DeviceQueue } from '../../src/runtime/device/queue.js';
import type { Operand } from '../../src/runtime/execution/executable.js';
import { Storage } from '../../src/runtime/memory/storage.js';
import { FakeBackend } from './fake-device.js';

/** The kernels that a GPU is given for a program, those of loops and branches in the order of their texts. */
export function gpuKernelsOf(
  program: Program,
  target: DeviceTarget = gpuTarget,
): readonly Kernel[] {
  const kernelsOf = (steps: readonly MainStep[]): readonly Kernel[] =>
    steps.flatMap((step): readonly Kernel[] => {
      switch (step.kind) {
        case 'kernel':
          return [step.kernel.kernel];
        case 'foreach':
          return kernelsOf(step.body);
        case 'while':
          return kernelsOf([...step.condition, ...step.body]);
        case 'branch':
          return kernelsOf([...step.consequent, ...step.alternate]);
        case 'bind':
          return [];
      }
    });
  return kernelsOf(planSteps(runPipeline(program), target).steps);
}

/** What programs compute by kernels for a GPU that has all dtypes: the interpreter runs them, in orders of a seed. */
export class ProgramsOnGrid {
  readonly backend: FakeBackend;
  readonly #queue: DeviceQueue;

  constructor(seed: number = 0, target: DeviceTarget = gpuTarget) {
    this.backend = new FakeBackend('grid', {
      target,
      dtypes,
      seed,
      bufferBytes: 2 ** 24,
    });
    this.#queue = new DeviceQueue(this.backend);
  }

  async run(program: Program, operands: readonly Operand[]): Promise<readonly Operand[]> {
    const executable = new DeviceExecutable(program, this.#queue, 'strict');
    const given = operands.map(({ storage, shape }) => ({
      storage: storage.onBackend(this.#queue),
      shape,
    }));
    const results: Operand[] = [];
    for (const { storage, shape } of executable.run(given)) {
      results.push({ storage: new Storage(storage.dtype, await storage.read()), shape });
    }
    executable.release();
    return results;
  }
}
