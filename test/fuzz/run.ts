import { allocate, kindOf } from '../../src/base/dtype.js';
import { writeElement } from '../../src/base/element.js';
import { arrayType } from '../../src/front/arraytype.js';
import { arrayOf } from '../../src/front/ndarray.js';
import * as kn from '../../src/index.js';
import { generator } from '../support/samples.js';
import { type Callable, calls, resultArrays } from './calls.js';
import { type FuzzProgram, type Input, mapRefs, shapeAt, sizeOf, type Sizes, type Step } from './program.js'; // prettier-ignore

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
            ? random() < 0.5
            : Math.floor(low + random() * (high - low + 1));
    writeElement(dtype, data, i, value);
  }
  return arrayOf(arrayType(dtype, shape), data);
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
  /** Replaces what a step calls: to plant a fault. */
  readonly callOf?: (op: string) => Callable | undefined;
  /** Runs a step in its place: to disturb what it reads. */
  readonly around?: (step: Step, run: () => kn.NDArray[], operands: kn.NDArray[]) => kn.NDArray[];
}

/** Runs the steps on inputs by number, and gives every value by number. */
export function runSteps(
  program: FuzzProgram,
  inputs: ReadonlyMap<number, kn.NDArray>,
  { callOf, around }: RunOptions = {},
): Map<number, kn.NDArray> {
  const values = new Map(inputs);
  for (const step of program.steps) {
    const call = callOf?.(step.op) ?? calls.get(step.op)!;
    const operands: kn.NDArray[] = [];
    const args = step.args.map((argument) =>
      mapRefs(argument, (id) => {
        const value = values.get(id)!;
        operands.push(value);
        return value;
      }),
    );
    const run = (): kn.NDArray[] => resultArrays(call(...args));
    const results = around === undefined ? run() : around(step, run, operands);
    step.results.forEach((id, i) => values.set(id, results[i]));
  }
  return values;
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
