import { bindTypes } from '../../ir/bind.js';
import { namedInputs, type Program } from '../../ir/program.js';
import { shapeEvaluator } from '../../passes/host/evaluate.js';
import type { Partition } from '../../passes/host/partition.js';
import { routineOf } from '../../passes/host/routine.js';
import type {
  HostCallee,
  Handle,
  HostPart,
  HostRoutine,
  HostStatementOf,
} from '../../passes/host/statements.js';
import { routineLines } from '../../passes/host/text.js';
import { calleeNames, forEachStatement, replacedIn } from '../../passes/host/walk.js';
import { checkDistinct, checkInto } from '../execution/binding.js';
import type { Inspectable, Operand, TierReport } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';
import { type RunFrame, prepare, prepareRun, type PreparedStep, storageAt } from './interpreter.js';

/** Makes the parts of a program executable. */
export interface PartCompiler {
  /** A program without cuts; `replaced` as in `CompileOptions`. */
  part(name: string, program: Program, replaced?: readonly (number | null)[]): Inspectable;
  region(region: Program): Inspectable;
}

/** Runs the routine of a partitioned program. */
export class DynamicExecutor implements Inspectable {
  readonly program: Program;
  readonly #routine: HostRoutine;
  readonly #compiler: PartCompiler;
  /** Code of programs without cuts. */
  readonly #parts: Map<Program, { readonly title: string; readonly executable: Inspectable }> =
    new Map();
  /** Regions that were asked for, each compiled at most once. */
  readonly #regions: Map<Program, Inspectable> = new Map();
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
    this.#given = new Set([...routine.inputs, ...routine.constants.keys()]);
    this.#constants[routine.nothing.id] = Storage.zeros('bool', 0);
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
    for (const [, executable] of this.#titled()) executable.release();
    this.#regions.clear();
  }

  run(inputs: readonly Operand[], into?: readonly (Storage | null)[]): readonly Operand[] {
    const { program, inputs: handles, outputs } = this.#routine;
    if (into !== undefined) checkDistinct(program, into);
    const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const names = new Map(bindTypes(namedInputs(program), actual));
    const frame: RunFrame = { names, arrays: [...this.#constants] };
    handles.forEach(({ id }, k) => (frame.arrays[id] = inputs[k].storage));
    this.#body(frame);
    const shapes = outputs.map((output) => shapeEvaluator(output.shape)(names));
    checkInto(program, shapes, into);
    // Before any output is written.
    const passed = outputs.map(({ of }) =>
      this.#given.has(of) ? copyOf(storageAt(frame, of)) : null,
    );
    const taken = new Set<Storage>();
    const last = this.#last;
    last?.step(frame, this.#targets(last.run, into ?? [], taken));
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

  /** All that has been compiled so far. */
  #titled(): readonly (readonly [title: string, Inspectable])[] {
    const parts = [...this.#parts.values()].map(({ title, executable }) => [title, executable] as const); // prettier-ignore
    const names = calleeNames(this.#routine.body);
    const regions = [...this.#regions].map(([program, region]) => [names.get(program)!, region] as const); // prettier-ignore
    return [...parts, ...regions];
  }

  readonly #compiled = {
    part: ({ program }: HostPart): Inspectable => this.#parts.get(program)!.executable,
    callee: ({ program, kind }: HostCallee): Inspectable =>
      kind === 'region' ? this.#region(program) : this.#parts.get(program)!.executable,
  };

  #region(region: Program): Inspectable {
    let executable = this.#regions.get(region);
    if (executable === undefined) {
      executable = this.#compiler.region(region);
      this.#regions.set(region, executable);
    }
    return executable;
  }

  /** Compiles all that every run needs. */
  #compile(replaced: readonly (number | null)[]): void {
    const add = (title: string, program: Program, taken?: readonly (number | null)[]): void => {
      const executable = this.#compiler.part(title, program, taken);
      this.#parts.set(program, { title, executable });
    };
    const names = calleeNames(this.#routine.body);
    forEachStatement(this.#routine.body, (statement) => {
      if (statement.kind === 'run') {
        const { name, program } = statement.part;
        add(name, program, replacedIn(statement, this.#routine, replaced));
      } else if (statement.kind === 'call') {
        const { kind, program, isOptional } = statement.callee;
        if (kind === 'chunk') add(names.get(program)!, program);
        else if (!isOptional) this.#region(program);
      }
    });
  }

  /** Storages for the last code to write outputs of the program to: each the first that wants it. */
  #targets(
    { gives }: HostStatementOf<'run'>,
    into: readonly (Storage | null)[],
    taken: Set<Storage>,
  ): readonly (Storage | null)[] {
    return gives.map((handle) => {
      const k = this.#routine.outputs.findIndex(({ of }, i) => of === handle && into[i]);
      const target = into[k] ?? null;
      if (target !== null) taken.add(target);
      return target;
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
