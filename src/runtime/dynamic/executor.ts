import { bindTypes } from '../../ir/bind.js';
import { type CallNode, namedInputs, type Program, type Value } from '../../ir/program.js';
import { requireAt, type Requirement, requireNow } from '../../ir/requirement.js';
import type { Shape } from '../../ir/types.js';
import type { BoundaryCheck, Island, Partition, IslandStage } from '../../passes/host/partition.js';
import { controlOf } from '../../passes/lower/main/control.js';
import { viewed } from '../../passes/rewrite/views.js';
import { checkDistinct, checkInto } from '../execution/binding.js';
import { otherBackends, runElsewhere } from '../execution/backends.js';
import type { Inspectable, Operand, TierReport } from '../execution/executable.js';
import type { Storage } from '../memory/storage.js';
import { hostCallOf } from './control.js';
import { type HostCall, CompiledRegions } from './host-call.js';
import { copyOperand } from './rows.js';
import { bindExtents, bindResults, carrying, checkBoundElements, shapeAt } from './sizes.js';
import { ValueSlots } from './slots.js';
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

/** A value that is there between stages, and the shape it is read in. */
interface Source {
  readonly slot: number;
  readonly shape: Shape;
}

/** A stage, ready to run. */
interface ReadyStage {
  readonly checks: readonly { readonly check: BoundaryCheck; readonly slot: number }[];
  readonly executor: Inspectable | null;
  /** The symbols whose sizes the island is told. */
  readonly symbols: readonly string[];
  readonly reads: readonly number[];
  readonly gives: readonly number[];
  readonly extents: readonly { readonly call: CallNode; readonly operand: Source }[];
  readonly calls: readonly ReadyCall[];
  readonly requirements: readonly Requirement[];
  /** The slots that nobody reads any more when it has run. */
  readonly last: readonly number[];
}

interface ReadyCall {
  readonly call: CallNode;
  readonly host: HostCall;
  readonly operands: readonly Source[];
  readonly gives: readonly number[];
}

/** What is there between stages, by slot. */
type Values = (Operand | undefined)[];

/**
 * Runs the islands of a program one after the other. Between them it reads the sizes that the data
 * decides, and runs loops and branches that are programs of their own.
 */
export class DynamicExecutor implements Inspectable {
  readonly program: Program;
  readonly #partition: Partition;
  readonly #compiler: PartCompiler;
  /** All that was compiled for it, regions apart. */
  readonly #parts: CompiledPart[] = [];
  readonly #slots: ValueSlots;
  readonly #stages: readonly ReadyStage[];
  readonly #outputs: readonly Source[];
  readonly #regions: CompiledRegions;

  constructor(
    program: Program,
    partition: Partition,
    compiler: PartCompiler,
    replaced: readonly (number | null)[] = [],
  ) {
    this.program = program;
    this.#partition = partition;
    this.#compiler = compiler;
    this.#regions = new CompiledRegions((region) => compiler.region(region));
    this.#slots = new ValueSlots(partition);
    this.#outputs = partition.program.outputs.map(({ value }) => this.#source(value));
    this.#stages = partition.stages.map((stage, number) => this.#ready(stage, number, replaced));
  }

  release(): void {
    for (const { executor } of this.#parts) executor.release();
    this.#regions.release();
  }

  run(inputs: readonly Operand[], into?: readonly (Storage | null)[]): readonly Operand[] {
    const { program } = this.#partition;
    if (otherBackends.exist) {
      const results = runElsewhere(this.program, inputs, into);
      if (results !== null) return results;
    }
    if (into !== undefined) checkDistinct(program, into);
    const actual = inputs.map(({ storage, shape }) => ({ dtype: storage.dtype, shape }));
    const sizes = bindTypes(namedInputs(program), actual);
    const values = this.#slots.values(inputs);
    const [last] = this.#stages.slice(-1);
    for (const stage of this.#stages) if (stage !== last) this.#run(stage, values, sizes);
    // Nothing can go wrong behind an island that comes last: it may write what nobody reads any more.
    const isDirect = last.calls.length + last.extents.length === 0;
    if (!isDirect) this.#run(last, values, sizes);
    const shapes = this.#outputs.map((output) => shapeAt(output, sizes));
    checkInto(program, shapes, into);
    const passed = this.#passedThrough(values);
    const direct = new Set<Storage>();
    if (isDirect) this.#run(last, values, sizes, this.#targets(last, into ?? [], direct));

    const handedOut = new Set<Storage>(direct);
    return this.#outputs.map(({ slot }, k) => {
      const shape = shapes[k];
      const made = passed[k] ?? values[slot]!.storage;
      const target = into?.[k] ?? null;
      if (target !== null) {
        if (made !== target) target.fill(made.host);
        return { storage: target, shape };
      }
      if (handedOut.has(made)) return copyOperand({ storage: made, shape });
      handedOut.add(made);
      return { storage: made, shape };
    });
  }

  /** The islands and the regions that the host runs, branches that were never taken too. */
  parts(): ReturnType<Inspectable['parts']> {
    for (const { calls } of this.#stages) {
      for (const { call } of calls) {
        if (controlOf(call)?.kind !== 'branch') continue;
        for (const region of call.regions) this.#regions.executable(region);
      }
    }
    const parts = this.#parts.map(({ name, executor }) => ({
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
    const parts = this.#parts.map(({ name, executor }) => ({ title: name, executable: executor }));
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
    return dynamicText(this.#partition, this.#parts, this.#regions);
  }

  #source(value: Value): Source {
    const base = viewed(this.#partition.program, value);
    return { slot: this.#slots.of(base), shape: value.type.shape };
  }

  #ready(
    { checks, island, extents, calls, requirements }: IslandStage,
    number: number,
    replaced: readonly (number | null)[],
  ): ReadyStage {
    const { program } = this.#partition;
    const callOf = (id: (typeof calls)[number]): CallNode => program.node(id) as CallNode;
    const replacedHere = island === null ? [] : replacedIn(island, program, replaced);
    return {
      checks: checks.map((check) => ({ check, slot: this.#slots.of(check.elements) })),
      executor:
        island === null ? null : this.#part(`island ${number}`, island.program, replacedHere),
      symbols: island?.symbols ?? [],
      reads: (island?.reads ?? []).map((value) => this.#slots.of(value)),
      gives: (island?.gives ?? []).map((value) => this.#slots.of(value)),
      extents: extents.map((id) => ({
        call: callOf(id),
        operand: this.#source(program.operands(id)[0]),
      })),
      calls: calls.map((id) => ({
        call: callOf(id),
        host: hostCallOf(
          callOf(id),
          program.operands(id).map(({ type }) => type),
          this.#regions,
          (chunk) => this.#part('chunk', chunk),
        ),
        operands: program.operands(id).map((operand) => this.#source(operand)),
        gives: program.results(id).map((value) => this.#slots.of(value)),
      })),
      requirements,
      last: this.#slots.lastReadIn(number),
    };
  }

  #part(name: string, program: Program, replaced?: readonly (number | null)[]): Inspectable {
    const executor = this.#compiler.part(name, program, replaced);
    this.#parts.push({ name, executor });
    return executor;
  }

  #run(
    { checks, executor, symbols, reads, gives, extents, calls, requirements, last }: ReadyStage,
    values: Values,
    sizes: Map<string, number>,
    into?: readonly (Storage | null)[],
  ): void {
    for (const { check, slot } of checks) checkBoundElements(check, values[slot]!, sizes);
    if (executor !== null) {
      const operands = reads.map((slot) => values[slot]!);
      if (symbols.length > 0) operands.push(carrying(symbols.map((name) => sizes.get(name)!)));
      const results = executor.run(operands, into);
      gives.forEach((slot, k) => (values[slot] = results[k]));
    }
    const operandOf = ({ slot, shape }: Source): Operand => {
      return { storage: values[slot]!.storage, shape: shapeAt({ shape }, sizes) };
    };
    for (const { call, operand } of extents) bindExtents(call, operandOf(operand), sizes);
    for (const { call, host, operands, gives: slots } of calls) {
      const results = host.run(operands.map(operandOf), sizes);
      bindResults(call, results, sizes);
      slots.forEach((slot, k) => (values[slot] = results[k]));
    }
    for (const requirement of requirements) requireAt(requirement, sizes, requireNow);
    for (const slot of last) values[slot] = undefined;
  }

  /** Copies of the outputs that are inputs or constants, made before any output is written. */
  #passedThrough(values: Values): readonly (Storage | undefined)[] {
    return this.#outputs.map(({ slot }) =>
      this.#slots.isGiven(slot) ? copyOperand(values[slot]!).storage : undefined,
    );
  }

  /** Where the last island writes outputs of the program: each to the first place that wants it. */
  #targets(
    { gives }: ReadyStage,
    into: readonly (Storage | null)[],
    direct: Set<Storage>,
  ): readonly (Storage | null)[] {
    return gives.map((slot) => {
      const k = this.#outputs.findIndex((output, i) => output.slot === slot && into[i]);
      const target = into[k] ?? null;
      if (target !== null) direct.add(target);
      return target;
    });
  }
}

/** What an island is to overwrite, given what the program is to. */
function replacedIn(
  { reads, gives }: Island,
  program: Program,
  replaced: readonly (number | null)[],
): readonly (number | null)[] {
  return gives.map((value) => {
    const k = program.outputs.findIndex(
      (output, i) => viewed(program, output.value) === value && typeof replaced[i] === 'number',
    );
    const at = k < 0 ? -1 : reads.indexOf(program.inputs[replaced[k]!]);
    return at < 0 ? null : at;
  });
}
