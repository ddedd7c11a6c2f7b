import { elementCount } from '../../../base/dim/index.js';
import { allocate, bytesOf, type DType, type HostArray, isFloat } from '../../../base/dtype.js';
import { readElement, writeElement } from '../../../base/element.js';
import { InternalError } from '../../../base/errors.js';
import { Program } from '../../../ir/program.js';
import type { DeviceTarget } from '../../../ops/declare/kernels.js';
import type { TunedCall, TunedOperand } from '../../../ops/tuning.js';
import { swapaxes } from '../../../ops/index.js';
import { planSteps } from '../../../passes/lower/main/stepwise.js';
import { runPipeline } from '../../../passes/pipeline.js';
import type { BufferSlot } from '../../device/memory.js';
import type { DeviceQueue } from '../../device/queue.js';
import { readAll } from '../../device/queue/waiting.js';
import { StepRunner } from '../../device/steps.js';
import type { DeviceBuffer } from '../../memory/backend.js';

/** A call with operands in memory that nothing else uses. */
export class TrialCall {
  readonly program: Program;
  readonly #queue: DeviceQueue;
  readonly #operands: readonly BufferSlot[];

  /** @throws DeviceError where there is no room for the operands. */
  constructor({ operator, attributes, operands }: TunedCall, queue: DeviceQueue) {
    const program = new Program();
    const inputs = operands.map((operand, k) => {
      const { dtype, shape, isTurned } = operand;
      const stored = isTurned ? [...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!] : shape;
      const value = program.variable(`x${k}`, { dtype, shape: stored });
      return isTurned ? swapaxes(value, -2, -1) : value;
    });
    const results = program.append(operator, inputs, attributes);
    program.setOutputs(results.map((value, k) => ({ name: `y${k}`, value })));
    this.program = runPipeline(program);
    this.#queue = queue;
    const made: DeviceBuffer[] = [];
    try {
      for (const operand of operands) made.push(filledBuffer(queue, operand));
    } catch (error) {
      for (const buffer of made) queue.backend.free(buffer);
      throw error;
    }
    this.#operands = made.map((buffer) => ({ buffer, offset: 0 }));
  }

  /** Bytes of its results. */
  get resultBytes(): number {
    const types = this.program.outputs.map(({ value: { type } }) => type);
    return types.reduce((sum, { dtype, shape }) => sum + bytesOf(dtype) * Number(elementCount(shape)), 0); // prettier-ignore
  }

  /** The call as one of its candidates computes it. */
  trial(target: DeviceTarget): CandidateRun {
    return new CandidateRun(this.program, target, this.#queue, this.#operands);
  }

  release(): void {
    for (const { buffer } of this.#operands) this.#queue.backend.free(buffer);
    this.#queue.trim();
  }
}

/** One candidate for a call. */
export class CandidateRun {
  readonly #steps: StepRunner;
  readonly #queue: DeviceQueue;
  readonly #operands: readonly BufferSlot[];

  constructor(
    program: Program,
    target: DeviceTarget,
    queue: DeviceQueue,
    operands: readonly BufferSlot[],
  ) {
    this.#steps = new StepRunner(planSteps(program, target), queue);
    this.#queue = queue;
    this.#operands = operands;
  }

  /** Launches its kernels. Results are given back, since commands are carried out in order. */
  readonly launch = (): void => {
    for (const buffer of this.#made()) this.#queue.backend.free(buffer);
  };

  /** The results. */
  async results(): Promise<readonly HostArray[]> {
    const made = this.#made();
    const answer = readAll(this.#queue.backend, made.map((buffer) => ({ buffer }))); // prettier-ignore
    for (const buffer of made) this.#queue.backend.free(buffer);
    return answer;
  }

  #made(): readonly DeviceBuffer[] {
    const step = this.#steps.run(this.#operands, new Map()).next();
    if (step.done !== true) throw new InternalError('a call that is measured has to wait');
    return [...new Set(step.value)];
  }
}

/** Elements that are repeated: a prime number, so that rows differ. */
const period = 8191;

/** Small integers but 0, whose products can be summed exactly in any order. */
function filledBuffer({ backend }: DeviceQueue, { dtype, shape }: TunedOperand): DeviceBuffer {
  const length = shape.reduce((a, b) => a * b, 1);
  const elements = allocate(dtype, length);
  let state = 1;
  for (let k = 0; k < Math.min(length, period); k++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const size = 1 + ((state >>> 24) & 1);
    const isNegative = dtype !== 'uint8' && ((state >>> 25) & 1) === 1;
    writeElement(dtype, elements, k, dtype === 'bool' ? size - 1 : isNegative ? -size : size);
  }
  for (let filled = period; filled < length; filled *= 2) elements.copyWithin(filled, 0, filled);
  const buffer = backend.allocate(dtype, length);
  backend.write(buffer, elements);
  return buffer;
}

/** Bytes of the operands of a call. */
export function operandBytes({ operands }: TunedCall): number {
  return operands.reduce((sum, { dtype, shape }) => sum + bytesOf(dtype) * shape.reduce((a, b) => a * b, 1), 0); // prettier-ignore
}

/** True where results differ by no more than a part of the largest one. */
export function resultsAgree(
  dtypes: readonly DType[],
  expected: readonly HostArray[],
  found: readonly HostArray[],
  margin: number,
): boolean {
  return expected.every((elements, k) => {
    const [dtype, others] = [dtypes[k], found[k]];
    if (!isFloat(dtype)) return elements.every((element: number | bigint, at: number) => element === others[at]); // prettier-ignore
    const numberAt = (from: HostArray, at: number): number => Number(readElement(dtype, from, at));
    let largest = 0;
    for (let at = 0; at < elements.length; at++) {
      const size = Math.abs(numberAt(elements, at));
      if (size > largest && size < Infinity) largest = size;
    }
    for (let at = 0; at < elements.length; at++) {
      const [a, b] = [numberAt(elements, at), numberAt(others, at)];
      if (!Object.is(a, b) && !(Math.abs(a - b) <= margin * largest)) return false;
    }
    return true;
  });
}
