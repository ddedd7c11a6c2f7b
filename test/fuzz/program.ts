import type { DType } from '../../src/base/dtype.js';

/*
 * A program is plain data: it can be printed, replayed from its seed, and cut down to the few steps that
 * matter. `run.ts` gives it its meaning.
 */

/** An extent that every call may choose anew. */
export type SizeName = 'n' | 'm';
export type Extent = number | SizeName;
/** The sizes of one call. */
export type Sizes = Readonly<Record<SizeName, number>>;

/** Where an input comes from: an argument, an array from outside, or one that the program assigns to. */
export type Role = 'argument' | 'captured' | 'state';

export interface Input {
  readonly id: number;
  readonly role: Role;
  readonly dtype: DType;
  readonly shape: readonly Extent[];
  /** Elements are drawn from here; integers include both ends. */
  readonly low: number;
  readonly high: number;
  /** Given elements, repeated as needed, for what must be sorted or is the result of shrinking. */
  readonly values?: readonly number[];
}

/** A value of the program as an argument. */
export interface Ref {
  readonly ref: number;
}

export type Argument =
  | Ref
  | number
  | string
  | boolean
  | null
  | undefined
  | readonly Argument[]
  | { readonly [key: string]: Argument };

/** A function that control flow calls. It sees every value that was made before the step it belongs to. */
export interface Region {
  /** The values that its arguments become: slices, then states. */
  readonly params: readonly number[];
  readonly steps: readonly Step[];
  readonly outputs: readonly number[];
  /** The new states of a loop, in the order of the old ones. */
  readonly states: readonly number[];
  /** Of a loop: whether the data of iterations decides sizes of outputs, so that there must be one. */
  readonly decides?: boolean;
}

/** How control flow is handed arrays, and hands them back. */
export type Nesting = 'bare' | 'list' | 'record' | 'deep';

/** One call: of an operator of the registry, of an action of `calls.ts`, or of control flow. */
export interface Step {
  readonly op: string;
  /**
   * Of control flow: `foreach` has its data, its states and options, `whileLoop` its loop variables and
   * options, `cond` its predicate, where the third region does not compute it. `push` has its data, its states, the row
   * that the list has before, and options; its body gives a value and a truth value.
   */
  readonly args: readonly Argument[];
  /** The values that its results become. Control flow gives outputs, then states, then a number of iterations. */
  readonly results: readonly number[];
  /** Of control flow: the body and the condition of a loop, the two branches and the predicate of `cond`. */
  readonly regions?: readonly Region[];
  readonly nesting?: Nesting;
}

export interface FuzzProgram {
  readonly seed: number;
  /** The sizes of one call after another; more than one where every step takes any size. */
  readonly sizes: readonly Sizes[];
  /** The draws of elements, one call after another. */
  readonly variants: readonly number[];
  readonly inputs: readonly Input[];
  readonly steps: readonly Step[];
  readonly outputs: readonly number[];
  /** The inputs whose gradients are compared. */
  readonly wrt: readonly number[];
  readonly training: boolean;
  /** Whether arguments and results come in nested lists and objects. */
  readonly nested: boolean;
}

export function isRef(argument: unknown): argument is Ref {
  return typeof argument === 'object' && argument !== null && 'ref' in argument;
}

/** The arguments with every reference replaced. */
export function mapRefs(argument: Argument, map: (id: number) => unknown): unknown {
  if (isRef(argument)) return map(argument.ref);
  if (Array.isArray(argument)) return argument.map((entry: Argument) => mapRefs(entry, map));
  if (typeof argument !== 'object' || argument === null) return argument;
  return Object.fromEntries(
    Object.entries(argument).map(([key, entry]) => [key, mapRefs(entry as Argument, map)]),
  );
}

/** The values that a step reads, those that its regions take from outside among them. */
export function refsOf({ args, regions = [] }: Step): number[] {
  const found: number[] = [];
  mapRefs(args, (id) => found.push(id));
  for (const region of regions) found.push(...freeIn(region));
  return found;
}

function freeIn({ params, steps, outputs, states }: Region): number[] {
  const own = new Set([...params, ...steps.flatMap(({ results }) => results)]);
  return [...steps.flatMap(refsOf), ...outputs, ...states].filter((id) => !own.has(id));
}

/** The values that a region makes, in its own steps and in those of regions inside. */
export function madeIn({ params, steps }: Region): number[] {
  return [...params, ...steps.flatMap(({ results, regions = [] }) => [...results, ...regions.flatMap(madeIn)])]; // prettier-ignore
}

/** Every step, those in regions before the step that owns the regions. */
export function allSteps(steps: readonly Step[]): Step[] {
  return steps.flatMap((step) => [
    ...(step.regions ?? []).flatMap((region) => allSteps(region.steps)),
    step,
  ]);
}

/** The regions of steps, however deep. */
export function allRegions(steps: readonly Step[]): Region[] {
  return allSteps(steps).flatMap(({ regions = [] }) => regions);
}

/** Every value that is read anywhere. */
export function readIn({ steps, outputs }: FuzzProgram): Set<number> {
  const given = allRegions(steps).flatMap((region) => [...region.outputs, ...region.states]);
  return new Set([...allSteps(steps).flatMap(refsOf), ...given, ...outputs]);
}

/**
 * The values on which outputs, or what is assigned, depend; of a step with several results all, if they
 * depend on one.
 */
export function neededIn({ steps, outputs }: Pick<FuzzProgram, 'steps' | 'outputs'>): Set<number> {
  const needed = new Set(outputs);
  for (const step of steps.toReversed()) {
    const { args, regions = [], results } = step;
    const writes = allSteps([step]).some(({ op }) => op === 'assign');
    if (!writes && !results.some((id) => needed.has(id))) continue;
    for (const id of results) needed.add(id);
    mapRefs(args, (id) => needed.add(id));
    for (const region of regions) {
      const ends = { steps: region.steps, outputs: [...region.outputs, ...region.states] };
      for (const id of neededIn(ends)) needed.add(id);
    }
  }
  return needed;
}

/** The steps, those of regions first, each replaced by what `change` makes of it. */
export function mapSteps(steps: readonly Step[], change: (step: Step) => readonly Step[]): Step[] {
  return steps.flatMap((step) => {
    if (step.regions === undefined) return change(step);
    const regions = step.regions.map((region) => ({
      ...region,
      steps: mapSteps(region.steps, change),
    }));
    return change({ ...step, regions });
  });
}

/** Whether a call is there for what it does: assign, or be refused. */
export function hasEffect(step: Step): boolean {
  return allSteps([step]).some(({ op, results }) => op === 'assign' || results.length === 0);
}

/** The steps that lead to values, and those with effects. */
function withoutDead(steps: readonly Step[], needed: Set<number>): Step[] {
  const kept: Step[] = [];
  for (const step of steps.toReversed()) {
    if (!hasEffect(step) && !step.results.some((id) => needed.has(id))) continue;
    const regions = step.regions?.map((region) => ({
      ...region,
      steps: withoutDead(region.steps, new Set([...region.outputs, ...region.states])),
    }));
    const left = regions === undefined ? step : { ...step, regions };
    kept.push(left);
    for (const id of refsOf(left)) needed.add(id);
  }
  return kept.reverse();
}

/** The program without what no output, and no call for its own sake, needs. */
export function withoutDeadSteps(program: FuzzProgram): FuzzProgram {
  const needed = new Set(program.outputs);
  const steps = withoutDead(program.steps, needed);
  return {
    ...program,
    steps,
    inputs: program.inputs.filter(({ id }) => needed.has(id)),
    wrt: program.wrt.filter((id) => needed.has(id)),
  };
}

/** The program without its assignments, for captures that refuse them. */
export function withoutAssignments(program: FuzzProgram): FuzzProgram {
  return {
    ...program,
    steps: mapSteps(program.steps, (step) => (step.op === 'assign' ? [] : [step])),
  };
}

export function shapeAt(shape: readonly Extent[], sizes: Sizes): number[] {
  return shape.map((extent) => (typeof extent === 'number' ? extent : sizes[extent]));
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, extent) => size * extent, 1);
}
