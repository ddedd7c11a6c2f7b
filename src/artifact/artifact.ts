import type { Bounds, Dim } from '../base/dim.js';
import type { DType, HostArray } from '../base/dtype.js';
import { ArgumentError, InternalError, UnsupportedError } from '../base/errors.js';
import type { GraphParts, Outside } from '../front/graph.js';
import { withoutGradients } from '../front/graphjson.js';
import type { StaticGraph } from '../front/staticgraph.js';
import { symbolsOfTypes } from '../ir/bind.js';
import { namedInputs, type Program, type Value } from '../ir/program.js';
import type { Requirement } from '../ir/requirement.js';
import type { Shape } from '../ir/types.js';
import { optimizeModule } from '../loop/module.js';
import type { Module } from '../loop/nodes.js';
import type { Target } from '../loop/target.js';
import { copy } from '../ops/structure/copy.js';
import type { Plan } from '../passes/lower/plan.js';
import { withOutputs } from '../passes/outputs.js';
import type { Place } from '../passes/places.js';
import { viewed } from '../passes/views.js';
import { planParts } from '../runtime/compile.js';
import { type Layout, layOutPlan } from './layout.js';
import { stateArrayOf } from './states.js';

/** An array that is given at each run, or returned. */
export interface Port {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
}

export interface InputPort extends Port {
  /** Where it is copied to; null where nothing reads it. */
  readonly address: Dim | null;
}

export interface OutputPort extends Port {
  readonly address: Dim;
}

/** What stays in memory from run to run: constants of the code, weights and other state. */
export interface Resident extends Port {
  readonly shape: readonly number[];
  /** Whether users know it by its name; constants of the code are nobody's. */
  readonly isState: boolean;
  readonly data: HostArray;
  readonly address: number;
  /** Where a run leaves its next value; null where it never changes. */
  readonly next: Dim | null;
}

/** A graph as data and code that know nothing of this library. */
export interface Artifact {
  readonly module: Module;
  /** The sizes that a run decides. */
  readonly symbols: ReadonlyMap<string, Bounds>;
  readonly inputs: readonly InputPort[];
  readonly outputs: readonly OutputPort[];
  readonly residents: readonly Resident[];
  /** What the sizes of a run must satisfy. */
  readonly requirements: readonly Requirement[];
  readonly layout: Layout;
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
  const parts = withoutGradients(graph.parts);
  if (parts.writes.length > 0 && !train) {
    throw new ArgumentError('the graph changes its own state at each run', {
      op,
      expected: 'a graph for inference',
      actual: `a graph that updates ${parts.writes.length} arrays`,
      advice: 'export what predictMode computes, or pass { train: true }',
    });
  }
  const program = withOwnOutputs(parts.program);
  const plan = planOf(op, program);
  const declared = namedInputs(program);
  const given = declared.length - parts.reads.length;
  const isState = ({ role }: Place): boolean => role.kind === 'input' && role.index >= given;
  const isResident = (place: Place): boolean => place.role.kind === 'constant' || isState(place);
  const layout = layOutPlan(plan, isResident, base);
  const nextOf = updates(parts, program);
  const addressOf = (output: number): Dim => {
    const source = plan.outputs[output];
    if (source.kind !== 'place') throw new InternalError('an output has no memory of its own');
    return layout.addresses[source.place];
  };
  const residents = plan.places.flatMap((place, id): Resident[] => {
    const { role } = place;
    const address = layout.addresses[id] as number;
    if (role.kind === 'constant') {
      const { type, data } = role.data;
      return [{ name: '', isState: false, ...type, data, address, next: null }];
    }
    if (role.kind !== 'input' || role.index < given) return [];
    const { name, type } = declared[role.index];
    const next = nextOf.get(role.index);
    return [
      {
        name,
        isState: true,
        dtype: type.dtype,
        ...stateArrayOf(op, name, parts.reads[role.index - given]),
        address,
        next: next === undefined ? null : addressOf(next),
      },
    ];
  });
  const isUpdate = new Set(nextOf.values());
  return {
    module: optimizeModule(plan.module, target),
    symbols: symbolsOfTypes(declared.map(({ type }) => type)),
    inputs: declared.slice(0, given).map(({ name, type }, index) => {
      const place = plan.places.findIndex(
        ({ role }) => role.kind === 'input' && role.index === index,
      );
      return { name, ...type, address: place < 0 ? null : layout.addresses[place] };
    }),
    outputs: program.outputs.flatMap(({ name, value: { type } }, k) =>
      isUpdate.has(k) ? [] : [{ name, ...type, address: addressOf(k) }],
    ),
    residents,
    requirements: program.requirements,
    layout,
  };
}

/** The program in one piece. */
function planOf(op: string, program: Program): Plan {
  const parts = planParts(program);
  if (parts.length === 1 && parts[0].title === '') return parts[0].plan;
  throw new UnsupportedError('a graph whose data decides sizes cannot be exported in one piece', {
    op,
    expected: 'sizes that follow from those of the inputs, or that something bounds inside loops',
    actual: `a program in ${parts.length} parts`,
    advice: 'pad to a size that is known, or export to ONNX',
  });
}

/** A program of our own, each of whose outputs it computes itself, in memory of its own. */
function withOwnOutputs(program: Program): Program {
  const own = withOutputs(program, program.outputs);
  const taken = new Set<Value>();
  const outputs = own.outputs.map(({ name, value }) => {
    const base = viewed(own, value);
    const isComputed = own.node(base.node).kind === 'call' && !taken.has(base);
    taken.add(base);
    return { name, value: isComputed ? value : copy<Value>(value) };
  });
  own.setOutputs(outputs);
  return own;
}

/** By input, the output that is its next value. State that is not read is an output like any other. */
function updates({ reads, writes }: GraphParts, program: Program): ReadonlyMap<number, number> {
  const given = program.inputs.length - reads.length;
  const returned = program.outputs.length - writes.length;
  const isSame = (a: Outside, b: Outside): boolean =>
    a.kind === b.kind && (a.kind !== 'array' || (b.kind === 'array' && a.of === b.of));
  const found = new Map<number, number>();
  writes.forEach((write, i) => {
    const read = reads.findIndex((each) => isSame(each, write));
    if (read >= 0) found.set(given + read, returned + i);
  });
  return found;
}
