import {
  addDim,
  type Bounds,
  type Dim,
  isStatic,
  substituteDim,
  symbolsOf,
} from '../base/dim/index.js';
import type { DType, HostArray } from '../base/dtype.js';
import { ArgumentError } from '../base/errors.js';
import type { GraphParts, ExternalRef } from '../front/graphs/graph.js';
import { withoutGradients } from '../front/graphs/graph-json.js';
import { checkGraph, type StaticGraph } from '../front/graphs/static-graph.js';
import { namedInputs, type Program } from '../ir/program.js';
import { dimsOf, type Requirement, type MessageTemplate, words } from '../ir/requirement.js';
import type { Shape } from '../ir/types.js';
import type { Module } from '../loop/language/nodes.js';
import type { Target } from '../loop/language/target.js';
import { inline } from '../passes/rewrite/inline.js';
import { type Watched, watching, presenceReport } from '../passes/host/watch.js';
import { type RoutineBuilder, bytesAt } from './driver/builder.js';
import { Composer, withOwnOutputs } from './driver/composer.js';
import { hostControl } from './driver/control.js';
import { boundFrom, type UpperBound } from './driver/names.js';
import {
  type Routine,
  type Statement,
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
  /** Where it is copied to; null where nothing reads it. */
  readonly address: Dim | null;
}

export interface OutputPort extends ArtifactPort {
  readonly address: Dim;
}

/** What stays in memory from run to run: constants of the code, weights and other state. */
export interface Resident extends ArtifactPort {
  readonly shape: readonly number[];
  /** Whether users know it by its name; constants of the code are nobody's. */
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
  /** What parts of a run are done by routines of their own, each behind those that it calls. */
  readonly routines: readonly Routine[];
  /** A run, from when the inputs are there to when the outputs are. */
  readonly body: readonly Statement[];
  readonly outputs: readonly OutputPort[];
  readonly residents: readonly Resident[];
  /** What the sizes of the inputs must satisfy. */
  readonly requirements: readonly Requirement[];
  /** The most memory that a run needs. */
  readonly bytes: UpperBound;
}

export interface ArtifactRequest {
  /** Who asks, for errors. */
  readonly op: string;
  readonly target: Target;
  /** The lowest address that may be used. */
  readonly base: number;
  /** Whether the graph may change its own state. */
  readonly train: boolean;
}

/**
 * What it takes to run a graph elsewhere.
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
      actual: `a graph that updates ${parts.writes.length} arrays`,
      advice: 'export what predictMode computes, or pass { train: true }',
    });
  }
  const own = withOwnOutputs(parts.program);
  const telling = watching(inline(own), presenceReport);
  const program = telling?.program ?? own;
  const declared = namedInputs(program);
  const given = declared.length - parts.reads.length;
  const composer = new Composer(target, base);
  const builder = composer.builder(program);
  const states = declared.slice(given).map(({ name, type: { dtype } }, k): Resident => {
    const array = stateArrayOf(op, name, parts.reads[k]);
    const address = composer.keep(array.data);
    builder.input(given + k, address);
    return { name, isState: true, dtype, ...array, address };
  });
  const { staged, addresses } = runWith(builder, given);
  const results = builder.outputs();
  telling?.watched.forEach((each, k) => {
    const flag = builder.load('foreign', results[own.outputs.length + k].at, 'bool');
    builder.emit({ kind: 'require', test: { relation: '=', dim: flag }, problem: foreign(each) });
  });
  const nextOf = updates(parts, own);
  for (const [read, output] of nextOf) {
    const { address, data } = states[read];
    builder.emit({ kind: 'move', to: address, from: results[output].at, bytes: data.byteLength });
  }
  const isUpdate = new Set(nextOf.values());
  const constants = [...composer.constants].map(({ type, data, address }): Resident => {
    return { name: '', isState: false, ...type, data, address };
  });
  // What runs need begins where everything ends that is there before.
  const frame = new Map([[String(builder.base), composer.end]]);
  const settled = (dim: Dim): Dim => substituteDim(dim, frame);
  const outputs = results
    .slice(0, own.outputs.length)
    .flatMap(({ at, type }, k): OutputPort[] =>
      isUpdate.has(k) ? [] : [{ name: own.outputs[k].name, ...type, address: settled(at) }],
    );
  const returned = outputs.flatMap(({ address, shape }) => [address, ...shape]);
  const symbols = builder.givenSizes;
  const isGiven = (dim: Dim): boolean => [...symbolsOf(dim)].every((name) => symbols.has(name));
  const found = new Set(
    outputs.flatMap(({ shape }) => shape.flatMap((dim) => [...symbolsOf(dim)])),
  );
  return {
    module: composer.module(),
    symbols,
    found: new Map(
      [...found]
        .filter((name) => !symbols.has(name))
        .map((name) => [name, builder.names.most(builder.size(name))]),
    ),
    inputs: declared.slice(0, given).map(({ name, type }, index) => {
      const address = addresses[index];
      return { name, ...type, address: address === null ? null : settled(address) };
    }),
    staged: settled(staged),
    routines: composer.routines,
    body: withoutUnused(substituteValues(builder.statements, frame), returned),
    outputs,
    residents: [...states, ...constants],
    requirements: program.requirements.filter((each) => dimsOf(each).every(isGiven)),
    bytes: boundFrom([builder.bytes], (bytes) => addDim(composer.end, bytes)),
  };
}

/** What is wrong where a call is given elements that it does not accept. */
function foreign({ call: { op }, accepted: { least, most } }: Watched): MessageTemplate {
  if (most === null && isStatic(least)) return words`${op.name}: an element is less than ${least}`;
  if (most === null || !isStatic(least) || !isStatic(most)) {
    return words`${op.name}: an index is outside the axis`;
  }
  return words`${op.name}: an element is outside ${least} to ${most}`;
}

/**
 * Writes all that a run does. Where it is one call of `main`, the inputs share memory with what is
 * computed; otherwise they stay. Gives where they are copied to, and the end of that.
 */
function runWith(
  builder: RoutineBuilder,
  given: number,
): { readonly addresses: readonly (Dim | null)[]; readonly staged: Dim } {
  const inputs = builder.program.inputs.slice(0, given);
  if (builder.isOnePiece) {
    const places = builder.runShared(({ role }) => role.kind === 'input' && role.index < given);
    return { addresses: inputs.map((_, k) => places.get(k) ?? null), staged: builder.reserved };
  }
  const addresses = inputs.map(({ type }, k) => {
    const at = builder.take(bytesAt(type));
    builder.input(k, at);
    return at;
  });
  const staged = builder.end;
  builder.run(hostControl);
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
