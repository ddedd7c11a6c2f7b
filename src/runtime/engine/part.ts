import { evaluateDim } from '../../base/dim/index.js';
import { allocate, bytesOf } from '../../base/dtype.js';
import { DeviceError, type ErrorDetails } from '../../base/errors.js';
import { bindTypes } from '../../ir/bind.js';
import { namedInputs, type Program } from '../../ir/program.js';
import { withCarriedSizes } from '../../passes/rewrite/carried-sizes.js';
import { compile } from '../compile/compile.js';
import { RunArray } from '../device/arrays.js';
import { HostPartCode, hostElements, typeOf } from '../device/host-part.js';
import type { PartCode } from '../device/program.js';
import type { DeviceQueue } from '../device/queue.js';
import { answered, type Waiting, waited } from '../device/queue/waiting.js';
import type { RunOperand } from '../device/routine.js';
import type { PartReport } from '../execution/backends.js';
import { arrayLength } from '../execution/binding.js';
import { programLabel } from '../profile/label.js';
import { profiling } from '../profile/recorder.js';
import type { EngineArray, EngineRun, ExternalEngine } from './engine.js';

/** Name of this library among the backends of a divided program. */
const here = 'kaon';

/** Code that an engine runs, or the CPU where the engine could not compile it and that is allowed. */
export class EnginePart implements PartCode {
  readonly #engine: ExternalEngine;
  readonly #program: Program;
  /** The program as the engine gets it. */
  readonly #carried: Program;
  readonly #queue: DeviceQueue;
  readonly #fallsBack: boolean;
  readonly #clock: PartClock;
  #code: EngineRun | Promise<EngineRun> | PartCode;

  /** @throws DeviceError when the engine refuses at once, unless `fallsBack`. */
  constructor(engine: ExternalEngine, program: Program, queue: DeviceQueue, fallsBack: boolean) {
    this.#engine = engine;
    this.#program = program;
    this.#carried = withCarriedSizes(program);
    this.#queue = queue;
    this.#fallsBack = fallsBack;
    this.#clock = new PartClock(engine.name, program);
    try {
      this.#code = engine.compile(this.#carried);
    } catch (error) {
      this.#code = this.#uncompiled(error);
    }
    // Whoever runs the part is told.
    if (this.#code instanceof Promise) this.#code.catch(() => {});
  }

  get report(): PartReport {
    return this.#clock.report;
  }

  release(): void {
    if ('release' in this.#code) this.#code.release();
  }

  *run(operands: readonly RunOperand[], sizes: readonly number[]): Waiting<readonly RunArray[]> {
    if (this.#code instanceof Promise) {
      try {
        this.#code = yield* waited(this.#code);
      } catch (error) {
        this.#code = this.#uncompiled(error);
      }
    }
    const code = this.#code;
    if ('release' in code) return yield* code.run(operands, sizes);
    const inputs: EngineArray[] = [];
    for (const operand of operands) {
      inputs.push({ ...typeOf(operand), data: yield* hostElements(operand) });
    }
    if (sizes.length > 0)
      inputs.push({ dtype: 'bool', shape: [0, ...sizes], data: allocate('bool', 0) });
    const start = performance.now();
    const begin = profiling.recorder?.now ?? 0;
    let results: readonly EngineArray[];
    try {
      results = yield* answered((code as EngineRun)(inputs));
    } catch (error) {
      throw this.#error('failed', { actual: messageOf(error), cause: error });
    }
    this.#check(inputs, results);
    this.#clock.ran(start, [...inputs, ...results]);
    const bytes = bytesIn([...inputs, ...results]);
    profiling.recorder?.kernel(programLabel(this.#program), this.#engine.name, bytes, begin);
    // Its own: an engine may use its memory again.
    return results.map(({ dtype, data }) => RunArray.ofHost(this.#queue, dtype, data.slice()));
  }

  /** @throws DeviceError for arrays that are not what the sub-graph computes. */
  #check(inputs: readonly EngineArray[], results: readonly EngineArray[]): void {
    const { outputs } = this.#program;
    if (!Array.isArray(results) || results.length !== outputs.length) {
      const actual = Array.isArray(results) ? `${results.length}` : typeof results;
      throw this.#error('returned no array for each output', {
        expected: `${outputs.length} arrays`,
        actual,
      });
    }
    const names = bindTypes(namedInputs(this.#carried), inputs);
    outputs.forEach(({ name, value: { type } }, k) => {
      const shape = type.shape.map((dim) => evaluateDim(dim, names));
      const length = arrayLength(shape);
      const { dtype, shape: own, data } = results[k];
      const isRight =
        dtype === type.dtype &&
        `${own}` === `${shape}` &&
        data?.constructor === allocate(dtype, 0).constructor &&
        data.length === length;
      if (isRight) return;
      const elements = data?.length === undefined ? 'no elements' : `${data.length} elements`;
      throw this.#error(`returned another array than output ${name}`, {
        expected: `${type.dtype}[${shape}] with ${length} elements`,
        actual: `${dtype}[${own}] with ${elements} in ${data?.constructor?.name ?? 'nothing'}`,
      });
    });
  }

  /** The part on the CPU, in the place of code that the engine could not make. */
  #uncompiled(error: unknown): PartCode {
    if (!this.#fallsBack) {
      throw this.#error('could not compile a sub-graph', {
        actual: messageOf(error),
        advice: 'run here what the engine cannot compile: { fallback: true }',
        cause: error,
      });
    }
    this.#clock.falls(messageOf(error));
    return timed(this.#program, this.#queue, this.#clock);
  }

  #error(what: string, { actual, ...details }: ErrorDetails): DeviceError {
    const { calls } = this.#clock.report;
    return new DeviceError(`the backend ${this.#engine.name} ${what}`, {
      op: this.#engine.name,
      actual: `${actual}; its calls are ${calls.join(', ')}`,
      ...details,
    });
  }
}

/** Code of a part that runs here, beside parts of an engine. */
export function hostPart(program: Program, queue: DeviceQueue): PartCode {
  return timed(program, queue, new PartClock(here, program));
}

function timed(program: Program, queue: DeviceQueue, clock: PartClock): PartCode {
  const code = new HostPartCode(compile(program), queue, () => null);
  return {
    get report() {
      return clock.report;
    },
    *run(operands, sizes) {
      const start = performance.now();
      const results = yield* code.run(operands, sizes);
      clock.ran(start, null);
      return results;
    },
    release: () => code.release(),
  };
}

function bytesIn(arrays: readonly EngineArray[]): number {
  return arrays.reduce((sum, { dtype, data }) => sum + bytesOf(dtype) * data.length, 0);
}

/** Counts the runs of a part, and measures them. */
class PartClock {
  #backend: string;
  readonly #calls: readonly string[];
  #runs = 0;
  #milliseconds = 0;
  #bytes: number | null = null;
  #problem: string | null = null;

  constructor(backend: string, program: Program) {
    this.#backend = backend;
    this.#calls = callsIn(program);
  }

  get report(): PartReport {
    return {
      backend: this.#backend,
      calls: this.#calls,
      runs: this.#runs,
      bytes: this.#bytes,
      milliseconds: this.#milliseconds,
      problem: this.#problem,
    };
  }

  /** @param moved Arrays that went to the engine or came from it; null for none. */
  ran(start: number, moved: readonly EngineArray[] | null): void {
    this.#runs++;
    this.#milliseconds += performance.now() - start;
    this.#bytes = moved === null ? null : bytesIn(moved);
  }

  falls(problem: string): void {
    this.#backend = here;
    this.#problem = problem;
  }
}

/** The calls of a program with their lines, each once. */
function callsIn(program: Program): readonly string[] {
  const calls = new Set<string>();
  for (const [, call] of program.calls()) {
    calls.add(call.source === undefined ? call.op.name : `${call.op.name} (${call.source})`);
  }
  return [...calls];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
