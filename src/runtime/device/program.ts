import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import { type Partition, partition } from '../../passes/host/partition.js';
import { routineOf } from '../../passes/host/routine.js';
import type { HostCallee, HostPart, HostRoutine } from '../../passes/host/statements.js';
import { forEachStatement } from '../../passes/host/walk.js';
import { planSteps } from '../../passes/lower/main/stepwise.js';
import { passes, runPipeline } from '../../passes/pipeline.js';
import { compile, evaluateConstant } from '../compile/compile.js';
import type { IslandReport, PartReport } from '../execution/backends.js';
import { RunArray } from './arrays.js';
import { HostPartCode, typeOf } from './host-part.js';
import { lackedCalls, lackedText, placementOn, preparedFor } from './lacks.js';
import type { DeviceQueue } from './queue.js';
import type { Waiting } from './queue/waiting.js';
import { type DeviceCode, RoutineRun, type RunOperand, type RunResult } from './routine.js';
import { StepRunner } from './steps.js';

/** Code of one of the parts that a routine runs. */
export interface PartCode {
  /** `sizes` are those that the part is passed. */
  run(operands: readonly RunOperand[], sizes: readonly number[]): Waiting<readonly RunArray[]>;
  release(): void;
  /** The part as one that a device lacks; null for any other. */
  readonly island?: IslandReport | null;
  /** The part as one beside those of an engine. */
  readonly report?: PartReport;
}

/** Cuts programs, and makes code of their parts. */
export interface PartPlaces {
  cut(program: Program): Partition;
  code(part: HostPart): PartCode;
}

/** A program, partitioned and planned for where its parts run. */
export class DeviceProgram implements DeviceCode {
  readonly program: Program;
  readonly routine: HostRoutine;
  readonly #queue: DeviceQueue;
  readonly #places: PartPlaces;
  readonly #parts: Map<Program, PartCode> = new Map();
  readonly #callees: Map<Program, DeviceProgram> = new Map();

  constructor(program: Program, queue: DeviceQueue, places: PartPlaces) {
    this.program = program;
    this.#queue = queue;
    this.#places = places;
    this.routine = routineOf(places.cut(program));
    forEachStatement(this.routine.body, (statement) => {
      if (statement.kind !== 'run') return;
      this.#parts.set(statement.part.program, places.code(statement.part));
    });
  }

  release(): void {
    for (const part of this.#parts.values()) part.release();
    for (const callee of this.#callees.values()) callee.release();
  }

  /** The parts, those of regions that have run so far, too. */
  parts(): readonly PartCode[] {
    const inside = [...this.#callees.values()].flatMap((callee) => callee.parts());
    return [...this.#parts.values(), ...inside];
  }

  /** Runs on arrays whose types determine these sizes. */
  run(
    inputs: readonly RunArray[],
    names: ReadonlyMap<string, number>,
  ): Waiting<readonly RunResult[]> {
    return new RoutineRun(this.#queue, this, this.routine, names, inputs).run();
  }

  part(
    { program }: HostPart,
    operands: readonly RunOperand[],
    sizes: readonly number[],
  ): Waiting<readonly RunArray[]> {
    return this.#parts.get(program)!.run(operands, sizes);
  }

  *callee(
    { program }: HostCallee,
    operands: readonly RunOperand[],
    sizes: readonly number[],
  ): Waiting<readonly RunResult[]> {
    let callee = this.#callees.get(program);
    if (callee === undefined) {
      callee = new DeviceProgram(program, this.#queue, this.#places);
      this.#callees.set(program, callee);
    }
    const names = bindProgram(program, operands.map(typeOf), sizes);
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
}

/** Places of a program on a device: all that it lacks runs on the CPU. */
export function devicePlaces(queue: DeviceQueue): PartPlaces {
  const { backend, name } = queue;
  return {
    cut: (program) => {
      const lowest = preparedFor(lowered(program), backend);
      return partition(lowest, placementOn(lowest, backend))!;
    },
    code: ({ program, isElsewhere }) => {
      if (!isElsewhere) {
        return new StepsCode(new StepRunner(planSteps(lowered(program), backend.target), queue), queue, program); // prettier-ignore
      }
      const calls = [...new Set(lackedCalls(program, backend).map(lackedText))];
      return new HostPartCode(compile(program), queue, (bytes) =>
        calls.length === 0 ? null : { device: name, calls, bytes },
      );
    },
  };
}

/** Code whose steps a device is told. */
class StepsCode implements PartCode {
  readonly #steps: StepRunner;
  readonly #queue: DeviceQueue;
  readonly #program: Program;

  constructor(steps: StepRunner, queue: DeviceQueue, program: Program) {
    this.#steps = steps;
    this.#queue = queue;
    this.#program = program;
  }

  *run(operands: readonly RunOperand[], sizes: readonly number[]): Waiting<readonly RunArray[]> {
    const names = bindProgram(this.#program, operands.map(typeOf), sizes);
    const slots = operands.map(({ array, from }) => array.slot(from));
    const made = yield* this.#steps.run(slots, names);
    return made.map((buffer) => RunArray.made(this.#queue, buffer));
  }

  release(): void {
    this.#steps.release();
  }
}

function lowered(program: Program): Program {
  return runPipeline(program, passes, { evaluate: evaluateConstant });
}
