import { type DimBindings, evaluateDim, symbolsOf } from '../../base/dim/index.js';
import { bytesOf, type HostArray } from '../../base/dtype.js';
import { DeviceError, named } from '../../base/errors.js';
import { bindTypes } from '../../ir/bind.js';
import { namedInputs, type Program } from '../../ir/program.js';
import { foreignElement, foreignInCapturedCode } from '../../passes/host/elements.js';
import { partition } from '../../passes/host/partition.js';
import { routineOf } from '../../passes/host/routine.js';
import type { HostCallee, HostPart, HostRoutine } from '../../passes/host/statements.js';
import { routineLines } from '../../passes/host/text.js';
import { forEachStatement } from '../../passes/host/walk.js';
import {
  firstReport,
  earliestReport,
  firstReported,
  presenceReport,
  watching,
  type Watching,
} from '../../passes/host/watch.js';
import { planSteps } from '../../passes/lower/main/stepwise.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { checksOf } from '../../passes/simplify/checks.js';
import { compile, evaluateConstant } from '../compile/compile.js';
import { checkDistinct, checkInto } from '../execution/binding.js';
import type { DeviceProgramExecutable, IslandPolicy, IslandReport } from '../execution/backends.js';
import type { Executable, Operand, TierReport } from '../execution/executable.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { Storage } from '../memory/storage.js';
import { RunArray } from './arrays.js';
import { lackedCalls, lackedText, placementOn, refuseLacking } from './lacks.js';
import type { DeviceQueue, Waiting } from './queue.js';
import { type DeviceCode, RoutineRun, type RunOperand, type RunResult } from './routine.js';
import { StepRunner } from './steps.js';

/** A program, partitioned and planned for a device. */
class DeviceProgram implements DeviceCode {
  readonly program: Program;
  readonly routine: HostRoutine;
  readonly #queue: DeviceQueue;
  readonly #steps: Map<Program, StepRunner> = new Map();
  readonly #elsewhere: Map<Program, Executable> = new Map();
  /** Bytes that the last run of what runs elsewhere copied. */
  readonly #moved: Map<Program, number> = new Map();
  readonly #callees: Map<Program, DeviceProgram> = new Map();

  constructor(program: Program, queue: DeviceQueue) {
    this.program = program;
    this.#queue = queue;
    const lowest = lowered(program);
    const { backend } = queue;
    this.routine = routineOf(partition(lowest, placementOn(lowest, backend))!);
    forEachStatement(this.routine.body, (statement) => {
      if (statement.kind !== 'run') return;
      const { program: part, isElsewhere } = statement.part;
      if (isElsewhere) this.#elsewhere.set(part, compile(part));
      else this.#steps.set(part, new StepRunner(planSteps(lowered(part), backend.target), queue));
    });
  }

  release(): void {
    for (const steps of this.#steps.values()) steps.release();
    for (const executable of this.#elsewhere.values()) executable.release();
    for (const callee of this.#callees.values()) callee.release();
  }

  /** Calls that run on the CPU, in regions that have run so far, too. */
  islands(): readonly IslandReport[] {
    const { backend, name } = this.#queue;
    const own = [...this.#elsewhere.keys()].map((program): IslandReport => {
      const calls = [...new Set(lackedCalls(program, backend).map(lackedText))];
      return { device: name, calls, bytes: this.#moved.get(program) ?? null };
    });
    return [...own, ...[...this.#callees.values()].flatMap((callee) => callee.islands())];
  }

  /** Runs on arrays whose types determine these sizes. */
  run(inputs: readonly RunArray[], names: DimBindings): Waiting<readonly RunResult[]> {
    return new RoutineRun(this.#queue, this, this.routine, names, inputs).run();
  }

  *part(
    { program, isElsewhere }: HostPart,
    operands: readonly RunOperand[],
  ): Waiting<readonly RunArray[]> {
    if (isElsewhere) return yield* this.#runElsewhere(program, operands);
    const names = bindTypes(namedInputs(program), operands.map(typeOf));
    const slots = operands.map(({ array, from }) => array.slot(from));
    const made = yield* this.#steps.get(program)!.run(slots, names);
    return made.map((buffer) => RunArray.made(this.#queue, buffer));
  }

  *callee({ program }: HostCallee, operands: readonly RunOperand[]): Waiting<readonly RunResult[]> {
    let callee = this.#callees.get(program);
    if (callee === undefined) {
      callee = new DeviceProgram(program, this.#queue);
      this.#callees.set(program, callee);
    }
    const names = bindTypes(namedInputs(program), operands.map(typeOf));
    const inputs: RunArray[] = [];
    const parts: RunArray[] = [];
    for (const operand of operands) {
      const { array, from, length } = operand;
      if (length === array.length) inputs.push(array);
      else {
        const part = yield* array.part(from, length);
        parts.push(part);
        inputs.push(part);
      }
    }
    try {
      return yield* callee.run(inputs, names);
    } finally {
      for (const part of parts) part.free();
    }
  }

  *#runElsewhere(program: Program, operands: readonly RunOperand[]): Waiting<readonly RunArray[]> {
    const given: Operand[] = [];
    let moved = 0;
    for (const { array, from, length, shape } of operands) {
      if (!array.isHostKnown) moved += bytesOf(array.dtype) * array.length;
      const elements = yield* array.elements();
      const part = elements.subarray(from, from + length);
      given.push({ storage: new Storage(array.dtype, part), shape });
    }
    return this.#elsewhere
      .get(program)!
      .run(given)
      .map(({ storage }) => {
        if (this.#queue.has(storage.dtype)) moved += bytesOf(storage.dtype) * storage.length;
        this.#moved.set(program, moved);
        // Its own: an operand that is a result, too, must not be shared.
        return RunArray.ofHost(this.#queue, storage.dtype, storage.copy());
      });
  }
}

/**
 * A program that runs on a device. Elements that operators refuse are looked at when the program has run: where the
 * device answers later, so does the error, at whoever reads a result.
 */
export class DeviceExecutable implements DeviceProgramExecutable {
  readonly program: Program;
  readonly #queue: DeviceQueue;
  readonly #code: DeviceProgram;
  readonly #watching: Watching | null;
  /** The program with the bodies of calls in their places: what is watched. */
  readonly #inlined: Program;

  readonly #policy: IslandPolicy;

  /** @throws DeviceError for what the device lacks, where that is refused. */
  constructor(program: Program, queue: DeviceQueue, policy: IslandPolicy) {
    if (policy !== 'islands') refuseLacking(program, queue.backend);
    this.#policy = policy;
    this.program = program;
    this.#queue = queue;
    const checks = checksOf(program);
    this.#inlined = checks?.program ?? program;
    this.#watching = checks === null ? null : watching(this.#inlined, presenceReport);
    this.#code = new DeviceProgram(this.#watching?.program ?? program, queue);
  }

  release(): void {
    this.#code.release();
  }

  tiers(): readonly TierReport[] {
    return [];
  }

  islands(): readonly IslandReport[] {
    return this.#code.islands();
  }

  toString(): string {
    return routineLines(this.#code.routine).join('\n');
  }

  run(inputs: readonly Operand[], into: readonly (Storage | null)[] = []): readonly Operand[] {
    const { program } = this;
    const queue = this.#queue;
    checkDistinct(program, into);
    const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const names = new Map(bindTypes(namedInputs(program), actual));
    const shapes = this.#shapes(names);
    if (shapes !== null) checkInto(program, shapes, into);
    const given = inputs.map(({ storage }) =>
      storage.backend === null ? storage.copy() : storage.buffer,
    );
    /** Buffers for the results, once it is known that they are made later. */
    let later: readonly DeviceBuffer[] | null = null;
    const work = function* (self: DeviceExecutable): Waiting<readonly RunResult[]> {
      try {
        const made = yield* self.#run(given, inputs, names);
        later?.forEach((buffer, k) => {
          made[k].array.moveInto(buffer);
          made[k].array.free();
        });
        return made;
      } catch (error) {
        for (const buffer of later ?? []) queue.fail(buffer, error);
        throw error;
      }
    };
    const answer = queue.submit(work(this));
    if (!(answer instanceof Promise)) return this.#results(answer, into);
    // The error is one of the results from here on.
    answer.catch(() => {});
    later = program.outputs.map(({ value: { type } }, k) =>
      into[k] ? into[k].buffer : queue.allocateResult(type.dtype, lengthOf(shapes![k])),
    );
    return later.map((buffer, k) => {
      into[k]?.changes();
      return { storage: into[k] ?? Storage.ofBuffer(queue, buffer), shape: shapes![k] };
    });
  }

  /** The shapes of results; null where the data decides some. */
  #shapes(names: DimBindings): readonly (readonly number[])[] | null {
    const { outputs } = this.program;
    const own = outputs.flatMap(({ value: { type } }) =>
      type.shape.flatMap((dim) => [...symbolsOf(dim)].filter((name) => !names.has(name))),
    );
    if (own.length === 0) {
      return outputs.map(({ value: { type } }) => type.shape.map((dim) => evaluateDim(dim, names)));
    }
    if (this.#queue.answersAtOnce) return null;
    throw new DeviceError('the size of a result is known to the device only', {
      op: 'run',
      expected: 'results whose sizes follow from those of the operands',
      actual: `the size ${own[0]}, on the device ${this.#queue.name}, which answers later`,
      advice: 'compute it on the CPU: await x.cpu()',
    });
  }

  *#run(
    given: readonly (DeviceBuffer | HostArray)[],
    inputs: readonly Operand[],
    names: DimBindings,
  ): Waiting<readonly RunResult[]> {
    const queue = this.#queue;
    const arrays = given.map((each, k) => {
      if (!('dtype' in each)) return RunArray.ofHost(queue, inputs[k].storage.dtype, each);
      queue.refuseFailed(each);
      return RunArray.given(queue, each);
    });
    try {
      const made = yield* this.#code.run(arrays, names);
      const own = this.program.outputs.length;
      try {
        yield* this.#look(made.slice(own), arrays, inputs);
      } catch (error) {
        for (const { array } of made) array.free();
        throw error;
      }
      for (const { array } of made.slice(own)) array.free();
      return made.slice(0, own);
    } finally {
      for (const array of arrays) array.free();
    }
  }

  /** Refuses elements that the program has told of. Another run, on the CPU, finds out which. */
  *#look(
    told: readonly RunResult[],
    arrays: readonly RunArray[],
    inputs: readonly Operand[],
  ): Waiting<void> {
    let isTold = false;
    for (const { array } of told) isTold ||= (yield* array.element(0)) !== 0;
    if (!isTold) return;
    const asking = compile(watching(this.#inlined, firstReport)!.program);
    const operands: Operand[] = [];
    for (const [i, each] of arrays.entries()) {
      const storage = new Storage(each.dtype, yield* each.elements());
      operands.push({ storage, shape: inputs[i].shape });
    }
    const answers = asking.run(operands).slice(this.program.outputs.length);
    const reports = answers.map(({ storage }) => storage.host);
    const k = earliestReport(this.#watching!.watched, reports);
    const watched = this.#watching!.watched[k];
    const { refused, iterations } = firstReported(watched, reports[k]);
    if (this.#policy !== 'eager') throw foreignInCapturedCode(watched, refused, iterations);
    throw named(foreignElement(watched.call, refused), watched.call.op.name);
  }

  #results(made: readonly RunResult[], into: readonly (Storage | null)[]): readonly Operand[] {
    return made.map(({ array, shape }, k) => {
      const target = into[k] ?? null;
      if (target === null) {
        return { storage: Storage.ofBuffer(this.#queue, array.handOver()), shape };
      }
      target.changes();
      array.moveInto(target.buffer);
      array.free();
      return { storage: target, shape };
    });
  }
}

function typeOf({
  array,
  shape,
}: RunOperand): Pick<Operand, 'shape'> & { dtype: RunArray['dtype'] } {
  return { dtype: array.dtype, shape };
}

function lengthOf(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1);
}

function lowered(program: Program): Program {
  return runPipeline(program, passes, { evaluate: evaluateConstant });
}
