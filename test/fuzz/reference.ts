import { isFloat } from '../../src/base/dtype.js';
import * as kn from '../../src/index.js';
import { nearlyTaint, type Outcome, outcomeDifference, outcomeOf } from './compare.js';
import { byHand } from './control.js';
import { Noise } from './noise.js';
import type { FuzzProgram, Sizes } from './program.js';
import { type RunOptions, runSteps, World } from './run.js';
import { taintsOf } from './taints.js';

export type Arrays = readonly kn.NDArray[];

export interface BodyOptions {
  readonly noise?: Noise;
  /** Is told the value of every step. */
  readonly onValues?: (values: ReadonlyMap<number, kn.NDArray>) => void;
  readonly callOf?: RunOptions['callOf'];
  /** Runs steps in their places, where there is no noise. */
  readonly around?: RunOptions['around'];
  readonly control?: RunOptions['control'];
}

/** Something to do with a program: its outputs, and whatever comes after them. */
export type Body = (world: World, args: Arrays, options: BodyOptions) => Arrays;

/** The outputs. */
export const forward: Body = (world, args, { noise, onValues, callOf, around, control }) => {
  const values = runSteps(world.program, world.bind(args), {
    ...(around && { around }),
    ...(noise && { around: noise.around }),
    ...(callOf && { callOf }),
    ...(control && { control }),
  });
  onValues?.(values);
  return world.program.outputs.map((id) => values.get(id)!);
};

export function inMode<R>({ training }: FuzzProgram, fn: () => R): R {
  return training ? kn.autograd.trainMode(fn) : kn.autograd.predictMode(fn);
}

/** The inputs that gradients are asked for. */
function wrtOf(world: World, args: Arrays): kn.NDArray[] {
  const bound = world.bind(args);
  return world.program.wrt.map((id) => bound.get(id)!);
}

/** Whether gradients are kept by the arrays, or returned. */
function keepsGradients({ seed }: FuzzProgram): boolean {
  return seed % 2 === 0;
}

/** What precedes a call whose gradients will be asked for. */
export function attach(world: World, args: Arrays): void {
  if (keepsGradients(world.program)) for (const x of wrtOf(world, args)) x.attachGrad();
}

/**
 * One number that every float array has a part in. With control flow so have the inputs: whatever a branch
 * that was not taken would have used takes part in captured code, and cannot where only one branch ran.
 */
function lossOf({ program }: World, arrays: Arrays, xs: Arrays): kn.NDArray {
  const hasBranches = program.steps.some(({ regions }) => regions !== undefined);
  const touched = hasBranches ? xs.map((x) => kn.zerosLike(x).mul(x)) : [];
  return [...arrays, ...touched]
    .filter(({ dtype }) => isFloat(dtype))
    .map((array, i) =>
      array
        .astype('float32')
        .mul(1 / (i + 1))
        .sum(),
    ) // prettier-ignore
    .reduce((total, part) => total.add(part), kn.zeros([]));
}

/** The outputs of `run`, then their gradients. */
export function withGradients(run: Body): Body {
  return (world, args, options) => {
    const { program } = world;
    const xs = wrtOf(world, args);
    const { outputs, loss } = kn.autograd.record(
      () => {
        const outputs = run(world, args, options);
        return { outputs, loss: during(options, () => lossOf(world, outputs, xs)) };
      },
      { trainMode: program.training },
    );
    if (!keepsGradients(program)) {
      return [...outputs, ...during(options, () => kn.autograd.grad(loss, xs))];
    }
    during(options, () => loss.backward());
    return [...outputs, ...xs.map((x) => x.grad!)];
  };
}

/** The outputs, then the gradients, then those of the squares of the gradients. */
export const withSecondGradients: Body = (world, args, options) => {
  const xs = wrtOf(world, args);
  // A recording that nobody differentiates would hold its arrays for ever.
  if (xs.length === 0) return forward(world, args, options);
  const differentiate = (outputs: Arrays): Arrays => {
    const first = kn.autograd.grad(lossOf(world, outputs, xs), xs, { createGraph: true });
    return [...first, ...kn.autograd.grad(lossOf(world, first.map((grad) => grad.square()), xs), xs)]; // prettier-ignore
  };
  return kn.autograd.record(
    () => {
      const outputs = forward(world, args, options);
      return [...outputs, ...during(options, () => differentiate(outputs))];
    },
    { trainMode: world.program.training },
  );
};

/** The body with loops and branches run by hand. */
export function unrolled(body: Body): Body {
  return (world, args, options) => body(world, args, { ...options, control: byHand });
}

function during<R>({ noise }: BodyOptions, fn: () => R): R {
  return noise === undefined ? fn() : noise.during(fn);
}

/** How often a program is run with disturbed operands to learn how far its results may move. */
const disturbances = 4;

/** What a body gives step by step from a fresh start, and how far right answers may be from it. */
export class Reference {
  readonly outcome: Outcome;
  readonly #program: FuzzProgram;
  readonly #taints: ReadonlyMap<number, number>;
  readonly #disturbed: readonly Extract<Outcome, { kind: 'arrays' }>[];

  constructor(
    program: FuzzProgram,
    body: Body,
    variant: number = 0,
    sizes: Sizes = program.sizes[0],
  ) {
    this.#program = program;
    let taints: ReadonlyMap<number, number> = new Map();
    const run = (options: BodyOptions): Outcome => {
      const world = new World(program, sizes);
      return outcomeOf(() => {
        const args = world.load(variant);
        attach(world, args);
        return [...inMode(program, () => body(world, args, options)), ...world.states()];
      });
    };
    this.outcome = run({ onValues: (values) => (taints = taintsOf(program, values)) });
    this.#taints = taints;
    const { outcome } = this;
    const isNoisy =
      outcome.kind === 'arrays' &&
      outcome.arrays.some(({ dtype }, i) => this.#taintAt(i, dtype) > 0);
    this.#disturbed = Array.from({ length: isNoisy ? disturbances : 0 }, (_, k) => {
      const disturbed = run({ noise: new Noise(program, k) });
      // Nothing in a program may depend on what the noise changes but floats.
      if (disturbed.kind === 'error') throw new Error(`disturbed: ${disturbed.message}`);
      return disturbed;
    });
  }

  /** How an outcome differs; null where it does not. Only outputs are looked at where `states` is false. */
  compare(actual: Outcome, { states = true }: { readonly states?: boolean } = {}): string | null {
    const { outcome } = this;
    const count = this.#program.inputs.filter(({ role }) => role === 'state').length;
    const expected =
      states || outcome.kind === 'error'
        ? outcome
        : { ...outcome, arrays: outcome.arrays.slice(0, outcome.arrays.length - count) };
    return outcomeDifference(actual, expected, (i, value) => ({
      name: `result ${i}`,
      value,
      taint: this.#taintAt(i, value.dtype),
      disturbed: this.#disturbed.map(({ arrays }) => arrays[i]),
    }));
  }

  /** Outputs are as exact as their values; gradients are sums; states are what was assigned. */
  #taintAt(index: number, dtype: kn.DType): number {
    const { outputs, inputs } = this.#program;
    if (index < outputs.length) return this.#taints.get(outputs[index]) ?? 0;
    const states = inputs.filter(({ role }) => role === 'state');
    const total = this.outcome.kind === 'arrays' ? this.outcome.arrays.length : 0;
    const state = states.at(index - total);
    const isState = index >= total - states.length && state !== undefined;
    return isState ? (this.#taints.get(state.id) ?? 0) : nearlyTaint(dtype);
  }
}
