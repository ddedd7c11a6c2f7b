import { checkRequirements } from '../../ir/check-requirements.js';
import type { Program } from '../../ir/program.js';
import { zerosLike } from '../../ops/index.js';
import { rematerialize, type SavePolicy } from '../../passes/gradient/rematerialize.js';
import { compile } from '../../runtime/compile/compile.js';
import { type IslandPolicy, type IslandReport, islandsOf, detours, type PartReport, divisionsOf, runElsewhere, wantIslands } from '../../runtime/execution/backends.js'; // prettier-ignore
import { engineNamed } from '../../runtime/engine/engine.js';
import { useEngine } from '../../runtime/engine/use.js';
import type { Executable, Operand, TierReport } from '../../runtime/execution/executable.js';
import type { Tier } from '../../runtime/execution/tiers.js';
import type { Storage } from '../../runtime/memory/storage.js';
import { type ArrayType, resultType } from '../core/array-type.js';
import { hostNumber } from '../core/capture.js';
import { joinRecording } from '../dispatch/dispatch.js';
import { ElementChecks } from '../dispatch/element-checks.js';
import { continueFrom, generatorMoment, returnTo, takeState } from '../dispatch/generator.js';
import type { GraphParts, Holder, ExternalRef } from './graph.js';
import { Session } from '../core/history.js';
import { Callable } from '../dispatch/invoke.js';
import { mode, withMode } from '../core/mode.js';
import type { GradReq } from '../capture/gradient-use.js';
import { NDArray } from '../core/ndarray.js';
import { moveState } from '../devices/placing.js';
import {
  keepGradient,
  forgetHistory,
  gradOf,
  refuseRecorded,
  markGradient,
  replaceGradient,
  writeState,
} from '../dispatch/values.js';

/** Options of a graph's runs, as of `HybridizeOptions`. */
export interface RunnerOptions {
  readonly save?: SavePolicy;
  readonly tier?: Tier;
  readonly strict?: boolean;
  readonly backend?: string;
  readonly fallback?: boolean;
}

/** Runs a graph on arrays: fetches its reads, and carries out its writes. */
export class GraphRunner {
  readonly parts: GraphParts;
  /** Number of returned outputs. */
  readonly #returned: number;
  readonly #callable: Callable;
  /** The program with reports of elements that could not be checked before. */
  #telling: Callable | undefined;
  /** Null when only a run decides it. */
  readonly #draws: number | null;
  readonly #save: SavePolicy;
  readonly #tier: Tier | undefined;
  readonly #islands: IslandPolicy;
  /** Has an external engine run parts of a program; null without one. */
  readonly #divide: ((program: Program) => void) | null;
  #executable: Executable | undefined;
  /** The program for other devices. */
  #elsewhere: Program | undefined;
  #checks: ElementChecks | undefined;
  /** Checks of the program as it is run without a recording. */
  #keptChecks: ElementChecks | undefined;
  /** The types of the results of the previous run. */
  readonly #types: ArrayType[] = [];

  constructor(parts: GraphParts, options: RunnerOptions = {}) {
    const { save = 'all', tier, strict = false, backend, fallback = false } = options;
    this.parts = parts;
    const engine = backend === undefined ? null : engineNamed(backend, 'hybridize');
    this.#divide = engine === null ? null : (program) => useEngine(program, engine, fallback);
    this.#islands = strict ? 'strict' : 'islands';
    this.#save = save;
    this.#tier = tier;
    const { program, writes } = parts;
    this.#returned = program.outputs.length - writes.length;
    this.#callable = this.#callableOf(program);
    const random = writes.find((write) => write.kind === 'random');
    this.#draws = random?.kind === 'random' ? random.draws : 0;
  }

  #callableOf(program: Program): Callable {
    // Written values carry no gradients.
    return new Callable(program, {
      flows: (output) => output < this.#returned,
      save: this.#save,
      tier: this.#tier,
      islands: this.#islands,
      ...(this.#divide !== null && { divide: this.#divide }),
    });
  }

  run(given: readonly NDArray[]): readonly NDArray[] {
    if (this.#draws === 0) return this.#run(given);
    const before = generatorMoment();
    try {
      return this.#run(given);
    } catch (error) {
      // A failed call draws nothing.
      if (mode.capture === null) returnTo(before);
      throw error;
    }
  }

  /** Operands of the program: the given arrays, then its reads, random state included. */
  operands(given: readonly NDArray[]): readonly NDArray[] {
    const { reads } = this.parts;
    if (reads.length === 0) return given;
    const holder = holderAmong(given);
    return [...given, ...reads.map((source) => this.#fetch(source, holder))];
  }

  /** Calls that ran on the CPU because a device lacks them. */
  islands(): readonly IslandReport[] {
    const kept = this.#elsewhere;
    const own = kept === undefined || kept === this.parts.program ? [] : islandsOf(kept);
    return [...own, ...this.#callable.islands()];
  }

  /** Parts of the programs of which an engine runs some. */
  divisions(): readonly PartReport[] {
    const kept = this.#elsewhere;
    const own = kept === undefined || kept === this.parts.program ? [] : divisionsOf(kept);
    return [...own, ...this.#callable.parts()];
  }

  /** Execution tiers so far. */
  tiers(): readonly TierReport[] {
    return [...(this.#executable?.tiers() ?? []), ...this.#callable.tiers()];
  }

  #run(given: readonly NDArray[]): readonly NDArray[] {
    const { program, writes, isRecording } = this.parts;
    const holder = holderAmong(given);
    // In a capture, the graph that this one becomes part of is checked when it runs.
    if (mode.capture !== null) return this.#runAsCall(this.operands(given), holder);
    checkRequirements(program, given);
    for (const write of writes) {
      if (write.kind === 'array') refuseRecorded('hybridize', holder(write.of));
    }
    const operands = this.operands(given);
    this.#checks ??= new ElementChecks(program);
    const isHere = !this.#areElsewhere(operands);
    if (isHere) this.#checks.run(operands);
    // Logged state is written where the log sees it.
    if (mode.session !== null || mode.stateLog !== null) return this.#runAsCall(operands, holder);
    if (isRecording !== true) return this.#runInPlace(operands, holder);
    return withMode({ session: new Session() }, 'hybridize', () =>
      this.#runAsCall(operands, holder),
    );
  }

  /** As one operator call, which can be recorded or captured. */
  #runAsCall(operands: readonly NDArray[], holder: HolderLookup): readonly NDArray[] {
    const { writes } = this.parts;
    // A recording must keep a copy of state that the call reads and then writes.
    const written = new Set(
      writes.flatMap((write) => (write.kind === 'array' ? [holder(write.of)] : [])),
    );
    // All arrays that the code reads take part in a recording, dead reads included.
    const touched = mode.session === null ? undefined : this.parts.touched;
    const takesPart = touched === undefined ? null : new Set(touched.map((of) => holder(of)));
    const checks = mode.capture === null && !this.#areElsewhere(operands) ? this.#checks! : null;
    const isTold = checks?.isTold === true;
    if (isTold) this.#telling ??= this.#callableOf(checks.program);
    const given = operands.map((operand) =>
      written.has(operand) || takesPart?.has(operand) === false ? plain(operand) : operand,
    );
    const run = (): readonly NDArray[] => (isTold ? this.#telling! : this.#callable).call(given);
    const results = checks?.look(run, operands) ?? run();
    for (const array of takesPart ?? []) joinRecording(array);
    writes.forEach((target, i) => {
      const value = plain(results[this.#returned + i]);
      if (target.kind === 'array') writeState(holder(target.of), value);
      else if (target.kind === 'gradient') leaveGradient(holder(target.of), value, target.attach);
      else if (this.#draws === null) continueFrom(value);
    });
    this.#markGradients(holder);
    return results.slice(0, this.#returned);
  }

  /** Immediately, with pinned state updated in place. */
  #runInPlace(operands: readonly NDArray[], holder: HolderLookup): readonly NDArray[] {
    const { writes } = this.parts;
    if (this.#areElsewhere(operands)) return this.#runElsewhere(operands, holder);
    const checks = (this.#keptChecks ??= this.#checksOfKept());
    this.#executable ??= compile(checks.program, {
      // A run that may still be refused must not overwrite anything.
      replaced: checks.isTold ? [] : this.#replaced(),
      tier: this.#tier,
    });
    for (const operand of operands) operand.computed();
    if (writes.length === 0 && this.parts.marks === undefined) {
      return this.#arrays(checks.look(() => this.#executable!.run(operands), operands));
    }
    const homes = writes.map((write) => (checks.isTold ? null : homeOf(write, holder)));
    const into = homes.some((home) => home !== null)
      ? [...Array<null>(this.#returned).fill(null), ...homes]
      : undefined;
    const arrays = this.#arrays(checks.look(() => this.#executable!.run(operands, into), operands));
    writes.forEach((write, i) => {
      if (write.kind !== 'array' && write.kind !== 'gradient') {
        if (this.#draws === null) continueFrom(arrays[this.#returned + i]);
        return;
      }
      const target = holder(write.of);
      if (homes[i] === null) {
        const value = arrays[this.#returned + i];
        if (write.kind === 'array') writeState(target, value);
        else leaveGradient(target, value, write.attach);
      } else if (write.kind === 'array') forgetHistory(target);
      else target.gradient!.wrote();
    });
    this.#markGradients(holder);
    return arrays.slice(0, this.#returned);
  }

  /** On another device, which looks at elements itself. */
  #runElsewhere(operands: readonly NDArray[], holder: HolderLookup): readonly NDArray[] {
    if (this.#elsewhere === undefined) {
      this.#elsewhere = this.#kept(this.parts.program);
      wantIslands(this.#elsewhere, this.#islands);
      this.#divide?.(this.#elsewhere);
    }
    moveState(operands, this.parts.writes.flatMap((write) => (write.kind === 'array' ? [holder(write.of)] : []))); // prettier-ignore
    const arrays = this.#arrays(runElsewhere(this.#elsewhere, operands, undefined)!);
    this.parts.writes.forEach((write, i) => {
      const value = arrays[this.#returned + i];
      if (write.kind === 'array') writeState(holder(write.of), value);
      else if (write.kind === 'gradient') leaveGradient(holder(write.of), value, write.attach);
      else if (this.#draws === null) continueFrom(value);
    });
    this.#markGradients(holder);
    return arrays.slice(0, this.#returned);
  }

  #checksOfKept(): ElementChecks {
    const { program } = this.parts;
    const kept = this.#kept(program);
    return kept === program ? this.#checks! : new ElementChecks(kept);
  }

  /** True where the operands are not on the CPU, or an engine has a part in it. */
  #areElsewhere(operands: readonly NDArray[]): boolean {
    if (this.#divide !== null) return true;
    return detours.devices && operands.some(({ storage }) => storage.backend !== null);
  }

  #markGradients(holder: HolderLookup): void {
    for (const { of, mark } of this.parts.marks ?? []) markGradient(holder(of), mark);
  }

  #arrays(results: readonly Operand[]): readonly NDArray[] {
    return results.map((result, k) => {
      const type = (this.#types[k] = resultType(this.#types[k], result));
      return new NDArray(type, result.storage);
    });
  }

  /** The program with the values of its own backward pass saved or recomputed, as `save` demands. */
  #kept(program: Program): Program {
    const { backward } = this.parts;
    if (backward === undefined || backward.size === 0 || this.#save === 'all') return program;
    return rematerialize(program, (id) => backward.has(id), this.#save);
  }

  /** For each output, the input that holds the state of which it is the next value. */
  #replaced(): readonly (number | null)[] {
    const { program, reads, writes } = this.parts;
    const given = program.inputs.length - reads.length;
    const readAt = new Map(
      reads.map((read, i) => [read.kind === 'array' ? read.of : null, given + i] as const),
    );
    return program.outputs.map((_, k) => {
      const write = k < this.#returned ? undefined : writes[k - this.#returned];
      if (write?.kind !== 'array') return null;
      return typeof write.of === 'number' ? write.of : (readAt.get(write.of) ?? null);
    });
  }

  #fetch(source: ExternalRef, holder: HolderLookup): NDArray {
    switch (source.kind) {
      case 'array':
        return holder(source.of);
      case 'gradient': {
        const owner = holder(source.of);
        return mode.capture === null
          ? (owner.gradient?.operand ?? zerosLike(owner))
          : (gradOf(owner) ?? zerosLike(owner));
      }
      case 'host':
        return hostNumber(source.of);
      case 'random':
        return takeState(this.#draws ?? 0);
    }
  }
}

type HolderLookup = (of: Holder) => NDArray;

/** Holders as arrays, in a call on given ones. */
export function holderAmong(given: readonly NDArray[]): HolderLookup {
  return (of) => (typeof of === 'number' ? given[of] : of);
}

/** The pinned memory of an outside; null for none. */
function homeOf(write: ExternalRef, holder: HolderLookup): Storage | null {
  if (write.kind === 'array') {
    const { elements } = holder(write.of);
    return elements?.isPinned === true ? elements : null;
  }
  if (write.kind !== 'gradient') return null;
  const owner = holder(write.of);
  if (write.attach !== undefined && owner.gradient?.req !== write.attach) return null;
  return owner.gradient?.home(owner) ?? null;
}

/** Assigns a gradient to an array, possibly attaching it. */
export function leaveGradient(owner: NDArray, grad: NDArray, attach: GradReq | undefined): void {
  if (attach !== undefined && owner.gradient?.req !== attach) keepGradient(owner, attach);
  replaceGradient(owner, grad);
}

/** The elements without history. In captured code the history is all there is. */
function plain(array: NDArray): NDArray {
  return mode.capture === null ? new NDArray(array.type, array.held) : array;
}
