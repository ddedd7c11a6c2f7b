import { bindProgram } from '../../ir/bind.js';
import type { Program } from '../../ir/program.js';
import { shapeEvaluator } from '../../passes/host/evaluate.js';
import type { Partition } from '../../passes/host/partition.js';
import { routineOf } from '../../passes/host/routine.js';
import type { Handle, HostCallee, HostPart, HostRoutine, HostStatementOf } from '../../passes/host/statements.js'; // prettier-ignore
import { routineLines } from '../../passes/host/text.js';
import { forEachStatement, programNames, replacedIn } from '../../passes/host/walk.js';
import { checkDistinct, checkInto } from '../execution/binding.js';
import { detours, runElsewhere } from '../execution/backends.js';
import type { Inspectable, Operand, TierReport } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';
import { type RunFrame, prepare, prepareRun, type PreparedStep, storageAt } from './interpreter.js';

/** Makes the parts of a program executable. */
export interface PartCompiler {
  /** A program without cuts; `replaced` as in `CompileOptions`. */
  readonly part: (
    name: string,
    program: Program,
    replaced?: readonly (number | null)[],
  ) => Inspectable;
  readonly region: (region: Program) => Inspectable;
}

/** Runs the routine of a partitioned program. */
export class DynamicExecutor implements Inspectable {
  readonly program: Program;
  readonly #routine: HostRoutine;
  readonly #compiler: PartCompiler;
  readonly #names: ReadonlyMap<Program, string>;
  /** Programs compiled so far, each at most once. */
  readonly #executables: Map<Program, Inspectable> = new Map();
  /** The arrays that are there before the inputs, by the numbers of handles. */
  readonly #constants: (Storage | undefined)[] = [];
  /** The inputs and constants, which are not the run's own. */
  readonly #given: ReadonlySet<Handle>;
  readonly #body: PreparedStep;
  /** The last statement where it runs code: nothing can fail behind it. */
  readonly #last: {
    readonly run: HostStatementOf<'run'>;
    readonly step: ReturnType<typeof prepareRun>;
  } | null;

  constructor(
    program: Program,
    partition: Partition,
    compiler: PartCompiler,
    replaced: readonly (number | null)[] = [],
  ) {
    this.program = program;
    this.#compiler = compiler;
    const routine = routineOf(partition);
    this.#routine = routine;
    this.#names = programNames(routine.body);
    this.#given = new Set([...routine.inputs, ...routine.constants.keys()]);
    for (const [{ id, dtype }, { data }] of routine.constants) {
      this.#constants[id] = new Storage(dtype, data);
    }
    this.#compile(replaced);
    const at = routine.body.findLastIndex(({ kind }) => kind !== 'drop');
    const run = routine.body[at];
    const isLast = run.kind === 'run';
    this.#last = isLast ? { run, step: prepareRun(run, this.#compiled) } : null;
    this.#body = prepare(isLast ? routine.body.slice(0, at) : routine.body, this.#compiled);
  }

  release(): void {
    for (const executable of this.#executables.values()) executable.release();
    this.#executables.clear();
  }

  run(
    inputs: readonly Operand[],
    into?: readonly (Storage | null)[],
    sizes: readonly number[] = [],
  ): readonly Operand[] {
    if (detours.exist) {
      const results = runElsewhere(this.program, inputs, into, sizes);
      if (results !== null) return results;
    }
    const { program, inputs: handles, outputs } = this.#routine;
    if (into !== undefined) checkDistinct(program, into);
    const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const names = bindProgram(program, actual, sizes);
    const frame: RunFrame = { names, arrays: [...this.#constants] };
    handles.forEach(({ id }, k) => (frame.arrays[id] = inputs[k].storage));
    this.#body(frame);
    const shapes = outputs.map((output) => shapeEvaluator(output.shape)(names));
    checkInto(program, shapes, into);
    // Before any output is written.
    const passed = outputs.map(({ of }) =>
      this.#given.has(of) ? copyOf(storageAt(frame, of)) : null,
    );
    // The last code writes outputs of the program where they are wanted first.
    const targets = this.#last?.run.gives.map(
      (handle) => into?.find((target, k) => target !== null && outputs[k].of === handle) ?? null,
    );
    this.#last?.step(frame, targets);
    const taken = new Set(targets);
    return outputs.map(({ of }, k) => {
      const shape = shapes[k];
      const made = passed[k] ?? storageAt(frame, of);
      const target = into?.[k] ?? null;
      if (target !== null) {
        if (made !== target) target.fill(made.host);
        return { storage: target, shape };
      }
      const isTaken = taken.has(made);
      taken.add(made);
      return { storage: isTaken ? copyOf(made) : made, shape };
    });
  }

  /** The islands and the regions that the host runs, branches that were never taken too. */
  parts(): ReturnType<Inspectable['parts']> {
    forEachStatement(this.#routine.body, (statement) => {
      if (statement.kind === 'call') this.#compiled.callee(statement.callee);
    });
    return this.#titled().flatMap(([title, executable]) =>
      executable.parts().map((part) => ({ ...part, title: joinedTitle(title, part.title) })),
    );
  }

  /** Of what has been compiled so far. */
  tiers(): readonly TierReport[] {
    return this.#titled().flatMap(([title, executable]) =>
      executable.tiers().map((tier) => ({ ...tier, part: joinedTitle(title, tier.part) })),
    );
  }

  /** The statements, then the code in full. */
  toString(): string {
    const lines = routineLines(this.#routine);
    for (const [title, executable] of this.#titled()) {
      lines.push(`${title}:`, executable.toString().replaceAll(/^(?=.)/gm, '  '));
    }
    return lines.join('\n');
  }

  #titled(): readonly (readonly [title: string, Inspectable])[] {
    return [...this.#executables].map(([program, each]) => [this.#names.get(program)!, each]);
  }

  readonly #compiled = {
    part: ({ program }: HostPart): Inspectable => this.#executables.get(program)!,
    callee: ({ program, kind }: HostCallee): Inspectable => {
      let executable = this.#executables.get(program);
      if (executable === undefined) {
        const { region, part } = this.#compiler;
        executable = kind === 'region' ? region(program) : part(this.#names.get(program)!, program);
        this.#executables.set(program, executable);
      }
      return executable;
    },
  };

  /** Compiles all that every run needs. */
  #compile(replaced: readonly (number | null)[]): void {
    forEachStatement(this.#routine.body, (statement) => {
      if (statement.kind === 'run') {
        const { name, program } = statement.part;
        const taken = replacedIn(statement, this.#routine, replaced);
        this.#executables.set(program, this.#compiler.part(name, program, taken));
      } else if (statement.kind === 'call' && !statement.callee.isOptional) {
        this.#compiled.callee(statement.callee);
      }
    });
  }
}

function joinedTitle(whole: string, part: string): string {
  return part === '' ? whole : `${whole}, ${part}`;
}

/** An array with elements of its own. */
function copyOf(storage: Storage): Storage {
  return new Storage(storage.dtype, storage.copy());
}
