import {
  addDim,
  type Bounds,
  type Dim,
  isStatic,
  substituteDim,
  symbol,
  symbolsOf,
} from '../base/dim/index.js';
import type { DType, HostArray } from '../base/dtype.js';
import { ArgumentError } from '../base/errors.js';
import type { GraphParts, ExternalRef } from '../front/graphs/graph.js';
import { withoutGradients } from '../front/graphs/graph-json.js';
import { lowered } from '../front/graphs/lowered.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import { givenSizes } from '../ir/bind.js';
import { namedInputs, type Program } from '../ir/program.js';
import { speaksOnlyOf, type Refusal, type Requirement } from '../ir/requirement.js';
import type { Shape } from '../ir/types.js';
import type { Module } from '../loop/language/nodes.js';
import type { Target } from '../loop/language/target.js';
import type { PlannedBuffer } from '../passes/groups/places.js';
import { declarationOf } from '../ops/declare/facets.js';
import { inline } from '../passes/rewrite/inline.js';
import { type Watched, presenceReport } from '../passes/host/watch/report.js';
import { watching } from '../passes/host/watch/watch.js';
import { Composer, withOwnOutputs } from './driver/composer.js';
import { boundFrom, type UpperBound } from './driver/names.js';
import { bytesAt } from './driver/layout.js';
import type { Placement } from './driver/placement.js';
import {
  type PlacedRoutine,
  type PlacedStatement,
  substituteValues,
  withoutUnused,
} from './driver/statements.js';
import { stateArrayOf } from './states.js';

/** An array that is given at each run, or returned. */
export interface ArtifactPort {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface InputPort extends ArtifactPort {
  /** Address that it is copied to; null where nothing reads it. */
  readonly address: Dim | null;
}

export interface OutputPort extends ArtifactPort {
  readonly address: Dim;
}

/** An array that stays in memory from run to run: a constant of the code, weights or other state. */
export interface Resident extends ArtifactPort {
  readonly shape: readonly number[];
  /** True if users know it by its name; constants of the code have none. */
  readonly isState: boolean;
  readonly data: HostArray;
  readonly address: number;
}

/** A graph as data and code that know nothing of this library. */
export interface Artifact {
  readonly module: Module;
  /** The sizes that the inputs of a run bring. */
  readonly symbols: ReadonlyMap<string, Bounds>;
  /** The sizes that the data of a run decides, as far as outputs speak of them, and what they are at most. */
  readonly found: ReadonlyMap<string, UpperBound>;
  readonly inputs: readonly InputPort[];
  /** The end of the memory that they are copied to. */
  readonly staged: Dim;
  /** Routines that a run calls, each behind those that it calls. */
  readonly routines: readonly PlacedRoutine[];
  /** A run, from when the inputs are there to when the outputs are. */
  readonly body: readonly PlacedStatement[];
  readonly outputs: readonly OutputPort[];
  readonly residents: readonly Resident[];
  /** Conditions on the sizes of the inputs. */
  readonly requirements: readonly Requirement[];
  /** The most memory that a run needs. */
  readonly bytes: UpperBound;
}

export interface ArtifactRequest {
  /** The function that asks, for errors. */
  readonly op: string;
  readonly target: Target;
  /** The lowest address that may be used. */
  readonly base: number;
  /** True if the graph may change its own state. */
  readonly train: boolean;
}

/** The changes that a run makes, for messages. */
function changesOf(writes: GraphParts['writes']): string {
  const arrays = writes.filter(({ kind }) => kind !== 'random').length;
  return [
    ...(arrays < writes.length ? ['draws random numbers'] : []),
    ...(arrays > 0 ? [`updates ${arrays} ${arrays === 1 ? 'array' : 'arrays'}`] : []),
  ].join(' and ');
}

/**
 * Compiles a graph to run elsewhere.
 * @throws UnsupportedError for what cannot leave this process, ArgumentError for a graph that changes
 * state where that is not wanted.
 */
export function artifactOf(graph: StaticGraph, request: ArtifactRequest): Artifact {
  const { op, target, base, train } = request;
  checkGraph(op, graph);
  const parts = withoutGradients(graph.parts);
  if (parts.writes.length > 0 && !train) {
    throw new ArgumentError('the graph changes its own state at each run', {
      op,
      expected: 'a graph for inference',
      actual: `a graph that ${changesOf(parts.writes)}`,
      advice: 'export what predictMode computes, or pass { train: true }',
    });
  }
  const own = withOwnOutputs(parts.program);
  const telling = watching(inline(own), presenceReport);
  const program = telling?.program ?? own;
  const declared = namedInputs(program);
  const given = declared.length - parts.reads.length;
  const composer = new Composer(target, base, lowered);
  const placement = composer.placement(program);
  const states = declared.slice(given).map(({ name, type: { dtype } }, k): Resident => {
    const array = stateArrayOf(op, name, parts.reads[k]);
    const address = composer.keep(array.data);
    placement.input(given + k, address);
    return { name, isState: true, dtype, ...array, address };
  });
  const { staged, addresses } = runWith(placement, given);
  const results = placement.outputs();
  telling?.watched.forEach((each, k) => {
    const flag = placement.load('foreign', results[own.outputs.length + k].at, 'bool');
    placement.emit({ kind: 'require', test: { relation: '=', dim: flag }, refusal: foreign(each) });
  });
  const nextOf = updates(parts, own);
  for (const [read, output] of nextOf) {
    const { address, data } = states[read];
    placement.emit({ kind: 'move', to: address, from: results[output].at, bytes: data.byteLength });
  }
  const isUpdate = new Set(nextOf.values());
  const constants = [...composer.constants].map(({ type, data, address }): Resident => {
    return { name: '', isState: false, ...type, data, address };
  });
  // What runs need begins where everything ends that is there before.
  const frame = new Map([[placement.memory.base.key, composer.end]]);
  const settled = (dim: Dim): Dim => substituteDim(dim, frame);
  const outputs = results.slice(0, own.outputs.length).flatMap(({ at, shape }, k): OutputPort[] => {
    const { name, value } = own.outputs[k];
    return isUpdate.has(k) ? [] : [{ name, dtype: value.type.dtype, shape, address: settled(at) }];
  });
  const returned = outputs.flatMap(({ address, shape }) => [address, ...shape]);
  const symbols = givenSizes(placement.program);
  const found = new Set(
    outputs.flatMap(({ shape }) => shape.flatMap((dim) => [...symbolsOf(dim)])),
  );
  return {
    module: composer.module(),
    symbols,
    found: new Map(
      [...found]
        .filter((name) => !symbols.has(name))
        .map((name) => [name, placement.names.most(symbol(name))]),
    ),
    inputs: declared.slice(0, given).map(({ name, type }, index) => {
      const address = addresses[index];
      return { name, ...type, address: address === null ? null : settled(address) };
    }),
    staged: settled(staged),
    routines: composer.routines,
    body: withoutUnused(substituteValues(placement.statements, frame), returned),
    outputs,
    residents: [...states, ...constants],
    requirements: program.requirements.filter((each) => speaksOnlyOf(each, symbols)),
    bytes: boundFrom([placement.memory.bytes], (bytes) => addDim(composer.end, bytes)),
  };
}

/** Refuses elements that a call does not accept. The run tells that there are some, not which they are. */
function foreign({
  call: { op, attributes, source },
  accepted: { least, most },
}: Watched): Refusal {
  const refusal = { error: 'argument', op: op.name, actual: ['another one'], source } as const;
  const told = declarationOf(op).check?.problem?.(attributes);
  if (told !== undefined) {
    const expected = ['a condition that holds'];
    return { ...refusal, problem: [`in captured code: ${told}`], expected, actual: ['one that does not'] }; // prettier-ignore
  }
  if (!isStatic(least) || (most !== null && !isStatic(most))) {
    const problem = ['in captured code: an index is outside the axis'];
    return { ...refusal, problem, expected: ['positions within the axis'] };
  }
  const [outside, expected] =
    most === null
      ? [`less than ${least}`, `${least} or more`]
      : [`outside ${least} to ${most}`, `${least} to ${most}`];
  const problem = [`in captured code: an element is ${outside}`];
  return { ...refusal, problem, expected: [expected] };
}

/**
 * Writes all that a run does. Where it is one call of `main`, the inputs share memory with what is
 * computed; otherwise they stay. Gives where they are copied to, and the end of that.
 */
function runWith(
  placement: Placement,
  given: number,
): { readonly addresses: readonly (Dim | null)[]; readonly staged: Dim } {
  const inputs = placement.program.inputs.slice(0, given);
  const run = placement.onlyRun;
  if (run !== null) {
    const isGiven = ({ role }: PlannedBuffer): boolean =>
      role.kind === 'input' && role.index < given;
    const places = placement.runShared(run, isGiven);
    return {
      addresses: inputs.map((_, k) => places.get(k) ?? null),
      staged: placement.memory.reserved,
    };
  }
  const addresses = inputs.map(({ type }, k) => {
    const at = placement.memory.take(bytesAt(type, type.shape));
    placement.input(k, at);
    return at;
  });
  const staged = placement.memory.end;
  placement.run();
  return { addresses, staged };
}

/** By state, the output that is its next value. State that is not read is an output like any other. */
function updates({ reads, writes }: GraphParts, program: Program): ReadonlyMap<number, number> {
  const returned = program.outputs.length - writes.length;
  const isSame = (a: ExternalRef, b: ExternalRef): boolean =>
    a.kind === b.kind && (a.kind !== 'array' || (b.kind === 'array' && a.of === b.of));
  const found = new Map<number, number>();
  writes.forEach((write, i) => {
    const read = reads.findIndex((each) => isSame(each, write));
    if (read >= 0) found.set(read, returned + i);
  });
  return found;
}
