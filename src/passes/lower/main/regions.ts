import { mulDim, elementCount } from '../../../base/dim/index.js';
import { bytesOf } from '../../../base/dtype.js';
import { InternalError } from '../../../base/errors.js';
import type { CallNode, Program, Value } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import * as e from '../../../loop/language/build.js';
import type { AddressScalar } from '../../../loop/language/target.js';
import type { ForeachForm, WhileForm } from '../../../ops/declare/lowering.js';
import type { Group } from '../../groups/group.js';
import { type PlannedBuffer, BufferAssignment, type StepRange } from '../../groups/places.js';
import { viewed } from '../../rewrite/views.js';
import { bindStep } from './bind-step.js';
import { type ScheduledBlock, controlCall, makesSizes } from './block.js';
import type { LoweredKernel } from '../nests/builder.js';
import { controlOf } from './control.js';
import { storageOf } from '../../../ops/elements.js';
import { topLevel, type GroupContext } from '../nests/steady.js';
import type {
  BranchStep,
  ForeachStep,
  RowPadding,
  Row,
  StateBuffer,
  MainStep,
  WhileStep,
} from './steps.js';

/** Makes the kernels of ordinary groups. */
export type LowerGroups = (
  program: Program,
  groups: readonly Group[],
  places: BufferAssignment,
  around: GroupContext,
) => readonly LoweredKernel[];

/** Place of an output of a region; may ask whether it can overwrite a state that it is computed from. */
type Destination = (mayOverwrite: (operand: Value) => boolean) => number;

/**
 * Gives the values of a program and of the regions inside it their places, and lowers its groups. Loops
 * address what changes from one iteration to the next by variables of `main`: rows of what is iterated
 * over and of what is stacked, and states, which are overwritten where they lie if every reader is done
 * by then, and otherwise take turns between two places.
 */
export class RegionLowering {
  readonly #lowerGroups: LowerGroups;
  readonly #spanOf: (group: Group) => StepRange;
  readonly #addresses: AddressScalar;

  constructor(
    spanOf: (group: Group) => StepRange,
    lowerGroups: LowerGroups,
    addresses: AddressScalar,
  ) {
    this.#spanOf = spanOf;
    this.#lowerGroups = lowerGroups;
    this.#addresses = addresses;
  }

  /** The places of the whole program, and what its `main` does. */
  whole(
    block: ScheduledBlock,
    replaced: readonly (number | null)[],
  ): { readonly places: BufferAssignment; readonly steps: readonly MainStep[] } {
    const controls = new Map<Group, MainStep>();
    const places = new BufferAssignment(
      block.program,
      block.groups,
      replaced,
      (group, inner) => this.#place(block, group, inner, controls, topLevel),
      null,
      this.#spanOf,
    );
    return { places, steps: this.#steps(block, places, controls, topLevel) };
  }

  /** A region whose inputs lie somewhere and whose outputs are to go somewhere. */
  #region(
    block: ScheduledBlock,
    outer: BufferAssignment,
    inputs: readonly number[],
    outputs: readonly Destination[],
    around: GroupContext,
  ): readonly MainStep[] {
    const { program } = block;
    const controls = new Map<Group, MainStep>();
    const places = new BufferAssignment(
      program,
      block.groups,
      [],
      (group, inner) => this.#place(block, group, inner, controls, around),
      {
        memory: outer.memory,
        spanOf: this.#spanOf,
        inputs: new Map(program.inputs.map((input, k) => [input, inputs[k]])),
        outputs: new Map(
          program.outputs.map(({ value }, k) => [viewed(program, value), outputs[k]]),
        ),
      },
    );
    return this.#steps(block, places, controls, around);
  }

  #steps(
    block: ScheduledBlock,
    places: BufferAssignment,
    controls: ReadonlyMap<Group, MainStep>,
    around: GroupContext,
  ): readonly MainStep[] {
    const ordinary = block.groups.filter((group) => !controls.has(group));
    const kernels = this.#lowerGroups(block.program, ordinary, places, around);
    let next = 0;
    return block.groups.map((group): MainStep => {
      const control = controls.get(group);
      if (control !== undefined) return control;
      const kernel = kernels[next++];
      const origin = { program: block.program, group };
      return { kind: 'kernel', kernel, origin, step: this.#spanOf(group).first };
    });
  }

  /** Places the results of a loop or branch, and all that is inside. */
  #place(
    block: ScheduledBlock,
    group: Group,
    places: BufferAssignment,
    controls: Map<Group, MainStep>,
    around: GroupContext,
  ): ReadonlyMap<Value, number> | null {
    const call = controlCall(block.program, group);
    if (call === null) {
      if (!makesSizes(block.program, group)) return null;
      const { first } = this.#spanOf(group);
      controls.set(group, bindStep(block.program, group, places, first));
      return new Map();
    }
    const site = new Site(
      block.program,
      group,
      call,
      places,
      this.#spanOf(group),
      around,
      this.#addresses,
    );
    const regions = block.regions.get(group)!;
    const control = controlOf(call)!;
    const { kind } = control;
    if (kind === 'branch') controls.set(group, this.#branch(site, regions));
    else if (kind === 'while') {
      controls.set(group, this.#while(site, control.loop(call.attributes), regions));
    } else controls.set(group, this.#foreach(site, control.loop(call.attributes), regions));
    return site.results;
  }

  #branch(site: Site, [consequent, alternate]: readonly ScheduledBlock[]): BranchStep {
    const [predicate, ...captures] = site.operands;
    const results = site.values.map((value) => site.result(value));
    const outputs = results.map((location) => (): number => location);
    const inside = site.inside('branch');
    return {
      kind: 'branch',
      span: site.span,
      predicate,
      consequent: this.#region(consequent, site.places, captures, outputs, inside),
      alternate: this.#region(alternate, site.places, captures, outputs, inside),
    };
  }

  #foreach(site: Site, form: ForeachForm, [body]: readonly ScheduledBlock[]): ForeachStep {
    const { data, states: stateCount, reverse, counted } = form;
    const operands = counted ? site.operands.slice(0, -1) : site.operands;
    const length = site.types[0].shape[0];
    const slices = operands
      .slice(0, data)
      .map((of, k) => site.row(of, body.program.inputs[k].type));
    const stacked = this.#stacked(site, body, stateCount);
    const states = new States(site, operands.slice(data, data + stateCount), body, data);
    const inputs = [
      ...slices.map(({ location }) => location),
      ...states.locations,
      ...operands.slice(data + stateCount),
    ];
    const steps = this.#loopBody(site, body, inputs, stacked, states);
    return {
      kind: 'foreach',
      span: site.span,
      length,
      reverse,
      count: counted ? site.operands[site.operands.length - 1] : null,
      rows: [...slices, ...stacked].map(({ row }) => row),
      states: states.all,
      body: steps,
      paddings: counted ? stacked.map(({ padding }) => padding) : [],
    };
  }

  #while(site: Site, form: WhileForm, [condition, body]: readonly ScheduledBlock[]): WhileStep {
    const stacked = this.#stacked(site, body, form.states);
    const states = new States(site, site.operands.slice(0, form.states), body, 0);
    const inputs = [...states.locations, ...site.operands.slice(form.states)];
    const predicate = site.temporary(condition.program.outputs[0].value.type);
    const goes = [(): number => predicate];
    const conditionSteps = this.#region(condition, site.places, inputs, goes, site.inside('loop'));
    const bodySteps = this.#loopBody(site, body, inputs, stacked, states);
    const count = site.values[site.values.length - 1];
    return {
      kind: 'while',
      span: site.span,
      limit: form.limit,
      rows: stacked.map(({ row }) => row),
      states: states.all,
      condition: conditionSteps,
      predicate,
      body: bodySteps,
      paddings: form.padded ? stacked.map(({ padding }) => padding) : [],
      iterations: site.result(count),
    };
  }

  /** Prints one iteration: it writes its rows, then the next states. */
  #loopBody(
    site: Site,
    body: ScheduledBlock,
    inputs: readonly number[],
    stacked: readonly StackedRow[],
    states: States,
  ): readonly MainStep[] {
    const rows = stacked.map(
      ({ location }) =>
        (): number =>
          location,
    );
    const outputs = [...rows, ...states.outputs];
    const steps = this.#region(body, site.places, inputs, outputs, site.inside('loop'));
    states.finish(stacked.length);
    return steps;
  }

  /**
   * The rows that one iteration writes of the stacked results. Their sizes are those of the results: what an iteration
   * decides for itself is known only behind the step that decides it.
   */
  #stacked(site: Site, body: ScheduledBlock, states: number): readonly StackedRow[] {
    return site.values.slice(0, body.program.outputs.length - states).map((value) => {
      const { dtype, shape } = value.type;
      const type = { dtype, shape: shape.slice(1) };
      const location = site.result(value);
      return {
        ...site.row(location, type),
        padding: { location, storage: storageOf(dtype), elements: elementCount(type.shape) },
      };
    });
  }
}

/** Place of the row of a stacked result that one iteration writes. */
interface StackedRow {
  readonly row: Row;
  readonly location: number;
  readonly padding: RowPadding;
}

/** A loop or branch among the places of its surroundings. */
class Site {
  readonly places: BufferAssignment;
  readonly span: StepRange;
  readonly around: GroupContext;
  readonly addresses: AddressScalar;
  readonly values: readonly Value[];
  /** Places of the operands. */
  readonly operands: readonly number[];
  readonly types: readonly TensorType[];
  readonly results: Map<Value, number> = new Map();

  constructor(
    program: Program,
    { anchors: [id] }: Group,
    call: CallNode,
    places: BufferAssignment,
    span: StepRange,
    around: GroupContext,
    addresses: AddressScalar,
  ) {
    this.places = places;
    this.addresses = addresses;
    this.span = span;
    this.around = around;
    this.values = program.results(id);
    const operands = program.operands(id);
    this.types = operands.map(({ type }) => type);
    this.operands = operands.map((value) => {
      const location = places.placeOf(value);
      if (location === undefined)
        throw new InternalError(`an operand of ${call.op.name} is not in memory`);
      return location;
    });
  }

  /** Context of the groups inside of it. */
  inside(kind: 'loop' | 'branch'): GroupContext {
    const { loops } = this.around;
    if (kind === 'branch') return { loops, isOptional: true };
    return { ...this.around, loops: [...loops, this.span] };
  }

  /** The location of a result: where it is wanted, or a place of its own. */
  result(value: Value): number {
    let location = this.results.get(value);
    if (location === undefined) {
      location = this.places.destinationOf(value) ?? this.temporary(value.type);
      this.results.set(value, location);
    }
    return location;
  }

  /** Memory for as long as the loop runs. */
  temporary({ dtype, shape }: TensorType): number {
    const { first, last } = this.span;
    return this.places.memory.place(
      { kind: 'temporary' } satisfies PlannedBuffer['role'],
      dtype,
      elementCount(shape),
      first,
      last,
    );
  }

  row(of: number, type: TensorType): { readonly row: Row; readonly location: number } {
    const variable = e.variable('row', this.addresses);
    const bytes = mulDim(elementCount(type.shape), bytesOf(type.dtype));
    return {
      row: { variable, of, bytes },
      location: this.places.memory.address(variable, of),
    };
  }
}

/** The states of a loop. */
class States {
  readonly #site: Site;
  readonly #all: {
    current: StateBuffer['current'];
    start: number;
    next: StateBuffer['next'];
    location: number;
  }[];
  readonly #body: ScheduledBlock;
  /** The position of the first state among the inputs of the body. */
  readonly #first: number;

  constructor(site: Site, starts: readonly number[], body: ScheduledBlock, first: number) {
    this.#site = site;
    this.#body = body;
    this.#first = first;
    this.#all = starts.map((start) => {
      const current = e.variable('state', site.addresses);
      const location = site.places.memory.address(current, start);
      return { current, start, next: null, location };
    });
  }

  get all(): readonly StateBuffer[] {
    return this.#all;
  }

  get locations(): readonly number[] {
    return this.#all.map(({ location }) => location);
  }

  /** Places of the new states: that of the old one, or a second one. */
  get outputs(): readonly Destination[] {
    return this.#all.map((state, k): Destination => {
      let chosen: number | undefined;
      return (mayOverwrite) => {
        if (chosen !== undefined) return chosen;
        const input = this.#body.program.inputs[this.#first + k];
        if (mayOverwrite(input)) return (chosen = state.location);
        const variable = e.variable('next', this.#site.addresses);
        const place = this.#site.temporary(input.type);
        state.next = { variable, place };
        return (chosen = this.#site.places.memory.address(variable, place));
      };
    });
  }

  /** Says where the final states are: `stacked` results stand before them. */
  finish(stacked: number): void {
    const { memory } = this.#site.places;
    this.#all.forEach(({ current, start, next }, k) => {
      const places = next === null ? [start] : [start, next.place];
      this.#site.results.set(this.#site.values[stacked + k], memory.address(current, ...places));
    });
  }
}
