import { allocate, kindOf } from '../../src/base/dtype.js';
import { writeElement } from '../../src/base/element.js';
import { arrayType } from '../../src/front/core/array-type.js';
import { arrayOf } from '../../src/front/core/ndarray.js';
import * as kn from '../../src/index.js';
import { generator } from '../support/samples.js';
import { type Callable, calls, resultArrays } from './calls.js';
import { byFunctions, type Control, type Given } from './control.js';
import { type FuzzProgram, type Input, mapRefs, refsOf, type Region, shapeAt, sizeOf, type Sizes, type Step } from './program.js'; // prettier-ignore

/** The variant in which little is true, so that masks select little or nothing. */
const sparse = 2;

/** The elements of an input: drawn anew for each `variant`. */
export function inputArray(input: Input, sizes: Sizes, seed: number, variant: number): kn.NDArray {
  const { dtype, low, high, values } = input;
  const shape = shapeAt(input.shape, sizes);
  const random = generator(seed * 31 + input.id * 1009 + variant * 77);
  const data = allocate(dtype, sizeOf(shape));
  for (let i = 0; i < data.length; i++) {
    const value =
      values !== undefined
        ? values[i % values.length]
        : kindOf(dtype) === 'float'
          ? low + random() * (high - low)
          : kindOf(dtype) === 'bool'
            ? random() < (variant === sparse ? 0.15 : 0.5)
            : Math.floor(low + random() * (high - low + 1));
    writeElement(dtype, data, i, value);
  }
  return arrayOf(arrayType(dtype, shape), data);
}

/** The same elements in memory of their own. */
export function copyOf({ dtype, shape, storage }: kn.NDArray): kn.NDArray {
  return arrayOf(arrayType(dtype, shape), storage.host.slice());
}

/** The arrays of one user of a program: those outside of it stay the same objects from call to call. */
export class World {
  readonly program: FuzzProgram;
  readonly outside: ReadonlyMap<number, kn.NDArray>;
  readonly sizes: Sizes;

  constructor(program: FuzzProgram, sizes: Sizes = program.sizes[0]) {
    this.program = program;
    this.sizes = sizes;
    this.outside = new Map(
      program.inputs
        .filter(({ role }) => role !== 'argument')
        .map((input) => {
          const array = inputArray(input, sizes, program.seed, 0);
          if (input.role === 'state') array.attachGrad({ req: 'null' });
          return [input.id, array];
        }),
    );
  }

  /** Puts everything where a call starts from, and gives its arguments. */
  load(variant: number, sizes: Sizes = this.sizes): kn.NDArray[] {
    const { inputs, seed } = this.program;
    kn.random.seed(seed + variant);
    for (const input of inputs) {
      this.outside.get(input.id)?.assign(inputArray(input, sizes, seed, variant));
    }
    return inputs
      .filter(({ role }) => role === 'argument')
      .map((input) => inputArray(input, sizes, seed, variant));
  }

  /** The states, once a call is over. */
  states(): kn.NDArray[] {
    return this.program.inputs.flatMap(({ id, role }) =>
      role === 'state' ? [this.outside.get(id)!] : [],
    );
  }

  /** Inputs by number, those of a call among them. */
  bind(args: readonly kn.NDArray[]): Map<number, kn.NDArray> {
    const given = this.program.inputs.filter(({ role }) => role === 'argument');
    return new Map([...this.outside, ...given.map(({ id }, i) => [id, args[i]] as const)]);
  }
}

export interface RunOptions {
  /** Replaces what a step calls. */
  readonly callOf?: (op: string) => Callable | undefined;
  /** Runs a step in its place: to disturb what it reads. `depth` says in how many bodies it stands. */
  readonly around?: (
    step: Step,
    run: () => readonly kn.NDArray[],
    operands: kn.NDArray[],
    depth: number,
  ) => readonly kn.NDArray[];
  /** How loops and branches are run. By the functions of the library unless said. */
  readonly control?: Control;
}

/** What runs in place of the library's own, where a program is captured: to plant a fault. */
export type Planted = Pick<RunOptions, 'callOf' | 'control'>;

/**
 * Runs the steps on inputs by number, and gives every value by number; of bodies those of the last
 * iteration.
 */
export function runSteps(
  program: FuzzProgram,
  inputs: ReadonlyMap<number, kn.NDArray>,
  options: RunOptions = {},
): Map<number, kn.NDArray> {
  const values = new Map(inputs);
  new Runner(values, options).run(program.steps);
  return values;
}

/** Actions that draw or write, and what stands for them where a body is only tried. */
const onTrial: Readonly<Record<string, Callable>> = {
  assign: () => [],
  dropout: (x) => x,
  'random.normal': (shape) => kn.zeros(shape as number[]),
  'random.uniform': (shape) => kn.zeros(shape as number[]),
  'random.bernoulli': (shape) => kn.zeros(shape as number[]),
};

/** Programs that are made end much sooner; those that are made smaller need not end at all. */
const mostEntries = 5000;

/** How often bodies have been entered so far. */
interface Count {
  entries: number;
}

/** Where steps stand: in how many bodies, and whether these are only tried. */
interface Place {
  readonly depth: number;
  readonly isTrial: boolean;
}

/**
 * Runs steps on values by number, which it adds to. Each run of a body has values of its own, as
 * variables of a function are: a body that is run again for its gradient finds what it found before.
 */
export class Runner {
  readonly #values: Map<number, kn.NDArray>;
  readonly #options: RunOptions;
  readonly #count: Count;
  readonly #place: Place;

  constructor(
    values: Map<number, kn.NDArray>,
    options: RunOptions = {},
    count: Count = { entries: 0 },
    place: Place = { depth: 0, isTrial: false },
  ) {
    this.#values = values;
    this.#options = options;
    this.#count = count;
    this.#place = place;
  }

  run(steps: readonly Step[]): void {
    for (const step of steps) {
      const operands: kn.NDArray[] = [];
      const args = step.args.map((argument) =>
        mapRefs(argument, (id) => {
          const value = this.#values.get(id)!;
          operands.push(value);
          return value;
        }),
      );
      const outer = step.regions === undefined ? [] : refsOf({ ...step, args: [] });
      operands.push(...outer.map((id) => this.#values.get(id)!));
      const run = (): readonly kn.NDArray[] => this.#call(step, args);
      const { around } = this.#options;
      const results = around === undefined ? run() : around(step, run, operands, this.#place.depth);
      step.results.forEach((id, i) => this.#values.set(id, results[i]));
    }
  }

  #call(step: Step, args: readonly unknown[]): readonly kn.NDArray[] {
    if (step.regions !== undefined) {
      const { control = byFunctions } = this.#options;
      return control(step, args, (region, given, isTrial) => this.#enter(region, given, isTrial));
    }
    const trial = this.#place.isTrial ? onTrial[step.op] : undefined;
    const call = trial ?? this.#options.callOf?.(step.op) ?? calls.get(step.op)!;
    return resultArrays(call(...args));
  }

  #enter(
    region: Region,
    given: readonly kn.NDArray[],
    isTrial: boolean = this.#place.isTrial,
  ): Given {
    if (++this.#count.entries > mostEntries) throw new Error('a loop does not end');
    const inner = new Map(this.#values);
    region.params.forEach((id, i) => inner.set(id, given[i]));
    const place = { depth: this.#place.depth + 1, isTrial };
    new Runner(inner, this.#options, this.#count, place).run(region.steps);
    for (const [id, value] of inner) this.#values.set(id, value);
    const values = (ids: readonly number[]): kn.NDArray[] => ids.map((id) => inner.get(id)!);
    return { outputs: values(region.outputs), states: values(region.states) };
  }
}

/** The outputs of a program as a function of arrays. */
export function runProgram(
  world: World,
  args: readonly kn.NDArray[],
  options: RunOptions = {},
): kn.NDArray[] {
  const values = runSteps(world.program, world.bind(args), options);
  return world.program.outputs.map((id) => values.get(id)!);
}
