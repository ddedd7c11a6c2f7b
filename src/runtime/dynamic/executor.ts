import { bindTypes } from '../../ir/bind.js';
import { namedInputs, type Program } from '../../ir/program.js';
import { routineOf } from '../../passes/host/routine.js';
import type { Callee, Handle, HostStatement, Part, Routine, Run } from '../../passes/host/statements.js'; // prettier-ignore
import type { Partition } from '../../passes/host/partition.js';
import { checkDistinct, checkInto } from '../execution/binding.js';
import type { Inspectable, Operand, TierReport } from '../execution/executable.js';
import { Storage } from '../memory/storage.js';
import { type Frame, prepare, prepareRun, shapeAt, type Step, storageAt } from './interpreter.js';
import { Regions } from './regions.js';
import { dynamicText } from './text.js';

/** How the parts of a program become executable. */
export interface PartCompiler {
  /** A program without cuts; `replaced` as in `CompileOptions`. */
  part(name: string, program: Program, replaced?: readonly (number | null)[]): Inspectable;
  region(region: Program): Inspectable;
}

/** A compiled part of a program. */
export interface CompiledPart {
  readonly name: string;
  readonly executor: Inspectable;
}

/** Runs the routine of a partitioned program. */
export class DynamicExecutor implements Inspectable {
  readonly program: Program;
  readonly #partition: Partition;
  readonly #routine: Routine;
  readonly #compiler: PartCompiler;
  readonly #regions: Regions;
  /** All that was compiled for it, regions apart. */
  readonly #parts: Map<Program, CompiledPart> = new Map();
  /** What is there when a run starts, by the numbers of handles. */
  readonly #constants: readonly (readonly [number, Storage])[];
  /** The inputs and constants, which are not the run's own. */
  readonly #given: ReadonlySet<Handle>;
  readonly #body: Step;
  /** The last statement where it runs code: nothing can fail behind it. */
  readonly #last: { readonly run: Run; readonly step: ReturnType<typeof prepareRun> } | null;

  constructor(
    program: Program,
    partition: Partition,
    compiler: PartCompiler,
    replaced: readonly (number | null)[] = [],
  ) {
    this.program = program;
    this.#partition = partition;
    this.#compiler = compiler;
    const routine = routineOf(partition);
    this.#routine = routine;
    this.#regions = new Regions((region) => compiler.region(region));
    this.#given = new Set([...routine.inputs, ...routine.constants.keys()]);
    this.#constants = [
      [routine.nothing.id, Storage.zeros('bool', 0)],
      ...[...routine.constants].map(
        ([{ id }, { type, data }]) => [id, new Storage(type.dtype, data)] as const,
      ),
    ];
    const at = routine.body.findLastIndex(({ kind }) => kind !== 'drop');
    const run = routine.body[at];
    const isLast = run.kind === 'run';
    this.#compile(routine.body, replaced);
    this.#last = isLast ? { run, step: prepareRun(run, this.#compiled) } : null;
    this.#body = prepare(isLast ? routine.body.slice(0, at) : routine.body, this.#compiled);
  }

  release(): void {
    for (const { executor } of this.#parts.values()) executor.release();
    this.#regions.release();
  }

  run(inputs: readonly Operand[], into?: readonly (Storage | null)[]): readonly Operand[] {
    const { program, inputs: handles, outputs } = this.#routine;
    if (into !== undefined) checkDistinct(program, into);
    const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const names = new Map(bindTypes(namedInputs(program), actual));
    const arrays: (Storage | undefined)[] = [];
    for (const [id, constant] of this.#constants) arrays[id] = constant;
    handles.forEach(({ id }, k) => (arrays[id] = inputs[k].storage));
    const frame: Frame = { names, arrays };
    this.#body(frame);
    const shapes = outputs.map((output) => shapeAt(frame, output));
    checkInto(program, shapes, into);
    // Before any output is written.
    const passed = outputs.map(({ of }) =>
      this.#given.has(of) ? copyOf(storageAt(frame, of)) : null,
    );
    const direct = new Set<Storage>();
    const last = this.#last;
    last?.step(frame, this.#targets(last.run, into ?? [], direct));
    return outputs.map(({ of }, k) => {
      const shape = shapes[k];
      const made = passed[k] ?? storageAt(frame, of);
      const target = into?.[k] ?? null;
      if (target !== null) {
        if (made !== target) target.fill(made.host);
        return { storage: target, shape };
      }
      const isTaken = direct.has(made);
      direct.add(made);
      return { storage: isTaken ? copyOf(made) : made, shape };
    });
  }

  /** The islands and the regions that the host runs, branches that were never taken too. */
  parts(): ReturnType<Inspectable['parts']> {
    forEachCallee(this.#routine.body, (callee) => void this.#compiled.callee(callee));
    const parts = [...this.#parts.values()].map(({ name, executor }) => ({
      title: name,
      plan: executor.parts()[0].plan,
    }));
    const regions = [...this.#regions.compiled].flatMap((region, number) =>
      region.parts().map(({ title, plan }) => ({
        title: `region ${number}${title === '' ? '' : `, ${title}`}`,
        plan,
      })),
    );
    return [...parts, ...regions];
  }

  /** Of what has been compiled so far. */
  tiers(): readonly TierReport[] {
    const parts = [...this.#parts.values()].map(({ name, executor }) => ({
      title: name,
      executable: executor,
    }));
    const regions = [...this.#regions.compiled].map((executable, number) => ({
      title: `region ${number}`,
      executable,
    }));
    return [...parts, ...regions].flatMap(({ title, executable }) =>
      executable
        .tiers()
        .map((report) => ({ ...report, part: [title, report.part].filter(Boolean).join(', ') })),
    );
  }

  toString(): string {
    return dynamicText(this.#partition, [...this.#parts.values()], this.#regions);
  }

  readonly #compiled = {
    part: ({ program }: Part): Inspectable => this.#parts.get(program)!.executor,
    callee: ({ program, kind }: Callee): Inspectable =>
      kind === 'region' ? this.#regions.executable(program) : this.#parts.get(program)!.executor,
  };

  /** Compiles all that every run needs. */
  #compile(body: readonly HostStatement[], replaced: readonly (number | null)[]): void {
    const add = (name: string, program: Program, taken?: readonly (number | null)[]): void => {
      const executor = this.#compiler.part(name, program, taken);
      this.#parts.set(program, { name, executor });
    };
    for (const statement of body) {
      if (statement.kind !== 'run') continue;
      const { name, program } = statement.part;
      add(name, program, replacedIn(statement, this.#routine, replaced));
    }
    forEachCallee(body, ({ kind, program, isOptional }) => {
      if (kind === 'chunk') add('chunk', program);
      else if (!isOptional) this.#regions.executable(program);
    });
  }

  /** Where the last code writes outputs of the program: each to the first place that wants it. */
  #targets(
    { gives }: Run,
    into: readonly (Storage | null)[],
    direct: Set<Storage>,
  ): readonly (Storage | null)[] {
    return gives.map((handle) => {
      const k = this.#routine.outputs.findIndex(({ of }, i) => of === handle && into[i]);
      const target = into[k] ?? null;
      if (target !== null) direct.add(target);
      return target;
    });
  }
}

/** What code is to overwrite, given what the program is to. */
function replacedIn(
  { reads, gives }: Run,
  { inputs, outputs }: Routine,
  replaced: readonly (number | null)[],
): readonly (number | null)[] {
  return gives.map((handle) => {
    const k = outputs.findIndex(({ of }, i) => of === handle && typeof replaced[i] === 'number');
    const at = k < 0 ? -1 : reads.findIndex(({ of }) => of === inputs[replaced[k]!]);
    return at < 0 ? null : at;
  });
}

/** What statements call, in their order. */
function forEachCallee(body: readonly HostStatement[], visit: (callee: Callee) => void): void {
  for (const statement of body) {
    if (statement.kind === 'call') visit(statement.callee);
    else if (statement.kind === 'repeat') forEachCallee(statement.body, visit);
    else if (statement.kind === 'choose') {
      forEachCallee(statement.consequent, visit);
      forEachCallee(statement.alternate, visit);
    }
  }
}

/** An array with elements of its own. */
function copyOf(storage: Storage): Storage {
  return new Storage(storage.dtype, storage.copy());
}
