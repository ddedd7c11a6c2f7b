import { type DType, isFloat, kindOf } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import * as kn from '../../src/index.js';
import type { Declaration } from '../../src/ops/declare/declare.js';
import { registry } from '../../src/ops/registry.js';
import { generator } from '../support/samples.js';
import { actionNames } from './calls.js';
import { sizeActions, withSizes } from './dynamic.js';
import { excluded, needsExact } from './facts.js';
import { deepestBody, Flows } from './flows.js';
import { type Expected, Operands } from './operands.js';
import { choosePalette, Choices, isFixed, isVaried, type Known, type Palette, recolor, sameKind } from './pool.js'; // prettier-ignore
import type { Argument, Extent, FuzzProgram, Role, Sizes } from './program.js';
import { refsOf, shapeAt, sizeOf } from './program.js';
import { type Refused, Scene, type Trial } from './scene.js';
import { withSelections } from './selections.js';

export interface GenerateOptions {
  /** How many calls; 200 unless said. */
  readonly calls?: number;
  /** Several sizes, and steps that take them all. */
  readonly generic?: boolean;
  /** Whether values may be assigned to, which not every capture allows. */
  readonly states?: boolean;
  /** Whether gradients will be asked for, so that slopes must not jump. */
  readonly gradients?: boolean;
  /** Whether there are loops, branches, and sizes that data decides. */
  readonly flows?: boolean;
}

export interface Generated {
  readonly program: FuzzProgram;
  readonly refused: readonly Refused[];
  /** What each value was for the first of the sizes. */
  readonly values: ReadonlyMap<number, NDArray>;
}

/** So many seeds in a row are neighbors. */
const neighbors = 100;
/** How many outputs are chosen for how much leads to them. */
const deepOutputs = 5;

/** How often operators of a family are tried. The dear ones less, so that there is time for more programs. */
const weights: Readonly<Record<Declaration['family'], number>> = {
  elementwise: 6,
  movement: 6,
  reduction: 3,
  indexing: 3,
  random: 1,
  structure: 1,
  normalization: 1,
  contraction: 1,
  control: 0,
  dynamic: 0,
};

const declarations = [...registry.values()].filter(({ name }) => !excluded.has(name));

/** The operators as often as they are tried; those whose sizes data decides where a program has room for them. */
function deckOf(isDynamic: boolean): readonly Declaration[] {
  return declarations.flatMap((declaration) => {
    const { family } = declaration;
    const isTried = family === 'dynamic' && isDynamic;
    return Array.from({ length: isTried ? 6 : weights[family] }, () => declaration);
  });
}

/** The program of a seed. Its steps are run as they are chosen, so each of them is valid. */
export function generate(seed: number, options: GenerateOptions = {}): Generated {
  return new Maker(seed, options).make();
}

class Maker {
  readonly #seed: number;
  readonly #options: GenerateOptions;
  readonly #choices: Choices;
  readonly #palette: Palette;
  readonly #sizes: readonly Sizes[];
  readonly #trials: readonly Trial[];
  readonly #scene: Scene;
  readonly #flows: Flows;
  readonly #deck: readonly Declaration[];
  #turn = 0;

  constructor(seed: number, options: GenerateOptions) {
    const { flows = false } = options;
    this.#seed = seed;
    this.#options = options;
    this.#choices = new Choices(generator(seed));
    // Neighbors have sizes and dtypes in common, so that what is compiled for one serves the next.
    const common = new Choices(generator(Math.floor(seed / neighbors)));
    this.#palette = choosePalette(common);
    this.#sizes = this.#chooseSizes(common);
    // Sizes that data decides show only where the data differs.
    const variants = flows && this.#sizes.length === 1 ? [0, 1, 2] : [0];
    this.#trials = this.#sizes.flatMap((sizes) => variants.map((variant) => ({ sizes, variant })));
    const [choices, palette, trials] = [this.#choices, this.#palette, this.#trials];
    this.#scene = new Scene({ seed, choices, palette, trials });
    this.#flows = new Flows(this.#scene, () => this.#step());
    this.#deck = choices.shuffled(deckOf(flows));
  }

  make(): Generated {
    kn.random.seed(this.#seed);
    const { calls: wanted = 200 } = this.#options;
    const scene = this.#scene;
    for (const shape of [['n', 'm'], ['m'], [2, 'n'], []] as const) {
      this.#input(this.#palette.float, shape, [-2, 2]);
    }
    this.#input(this.#palette.int, ['n'], [0, 3]);
    this.#input('bool', ['n', 'm'], [0, 1]);
    for (let tries = 0; scene.steps.length < wanted && tries < 20 * wanted; tries++) this.#step();
    return { program: this.#finished(), refused: scene.refused, values: scene.values };
  }

  /** Tries to add a step, with others that lead to it. */
  #step(): void {
    const choices = this.#choices;
    if (this.#options.flows === true) {
      if (this.#scene.depth < deepestBody && choices.chance(0.14)) return this.#flows.add();
      if (choices.chance(0.06)) return withSelections(this.#scene);
      if (choices.chance(0.06)) return withSizes(this.#scene, choices.pick(sizeActions));
      if (this.#scene.depth > 0 && choices.chance(0.04)) return this.#act('assign');
    }
    if (choices.chance(0.06)) this.#act(choices.pick(actionNames));
    else this.#operate(this.#deck[this.#turn++ % this.#deck.length]);
  }

  #chooseSizes(common: Choices): readonly Sizes[] {
    if (this.#options.generic !== true) {
      return [{ n: common.pick([1, 2, 3, 3, 5, 0]), m: common.pick([2, 3, 4, 1]) }];
    }
    // Three that are traced, the third one for all sizes; then one that no trace has seen.
    const [n, m] = [common.shuffled([2, 3, 5, 1, 0]), common.shuffled([2, 3, 4, 1, 0])];
    return [0, 1, 2, 3].map((i) => ({ n: n[i], m: m[i] }));
  }

  #finished(): FuzzProgram {
    const { inputs: all, pool, steps } = this.#scene;
    const floats = pool.filter((known) => isFloat(known.dtype) && known.isTame);
    const made = new Set(steps.flatMap(({ results }) => results));
    const candidates = pool.filter(({ id, isTame }) => made.has(id) && isTame);
    const outputs = this.#chooseOutputs(candidates);
    const needed = this.#neededFor(outputs);
    const inputs = new Set(all.filter(({ role, id }) => role !== 'state' && needed.has(id)).map(({ id }) => id)); // prettier-ignore
    const wrt = floats.filter(({ id }) => inputs.has(id)).map(({ id }) => id);
    return {
      seed: this.#seed,
      sizes: this.#sizes,
      variants: this.#trials.length > this.#sizes.length ? [0, 0, 1, 2] : [0, 0, 1],
      inputs: all,
      steps,
      outputs: [...outputs],
      wrt: this.#options.gradients === true ? this.#choices.shuffled(wrt).slice(0, 4) : [],
      training: this.#choices.chance(0.5),
      nested: this.#choices.chance(0.5),
    };
  }

  /** A few values that most of the program leads to, and some others. */
  #chooseOutputs(candidates: readonly Known[]): ReadonlySet<number> {
    const outputs = new Set<number>();
    let covered: ReadonlySet<number> = new Set();
    for (let k = 0; k < deepOutputs; k++) {
      const tried = Array.from({ length: 12 }, () => this.#choices.late(candidates).id);
      const gains = tried.map((id) => this.#neededFor(new Set([...outputs, id])));
      const best = gains.reduce((found, gain, i) => (gain.size > gains[found].size ? i : found), 0);
      outputs.add(tried[best]);
      covered = gains[best];
    }
    const others = this.#choices.shuffled(candidates).filter(({ id }) => covered.has(id));
    for (const { id } of others.slice(0, 8 - deepOutputs)) outputs.add(id);
    return outputs;
  }

  /** Every value that the outputs depend on. */
  #neededFor(outputs: ReadonlySet<number>): ReadonlySet<number> {
    const needed = new Set(outputs);
    for (const step of this.#scene.steps.toReversed()) {
      if (!step.results.some((id) => needed.has(id))) continue;
      for (const id of refsOf(step)) needed.add(id);
    }
    return needed;
  }

  #input(
    dtype: DType,
    shape: readonly Extent[],
    [low, high]: readonly [number, number],
    values?: readonly number[],
  ): Known {
    // prettier-ignore
    const isFixed = shape.every((extent) => typeof extent === 'number');
    const role: Role =
      (isFixed || this.#sizes.length === 1) && this.#choices.chance(0.3) ? 'captured' : 'argument';
    return this.#scene.place({ dtype, shape, low, high, role, ...(values && { values }) });
  }

  #act(name: string): void {
    const floats = this.#scene.pool.filter(({ dtype, isTame }) => dtype === this.#palette.float && isTame); // prettier-ignore
    if (floats.length === 0) return;
    const value = this.#choices.late(floats);
    if (name.startsWith('random.')) {
      this.#scene.call(name, [[this.#choices.below(3), this.#choices.pick([1, 2, 3])]]);
    } else if (name === 'assign') {
      if (this.#options.states === true && this.#sizes.length === 1) this.#assign(value);
    } else this.#scene.call(name, [{ ref: value.id }]);
  }

  /** New state that is a mean of the old one and of a value, as running statistics are. */
  #assign(value: Known): void {
    const { dtype, arrays, id } = value;
    if (!isFixed(value)) return;
    const state = this.#scene.place({
      role: 'state',
      dtype,
      shape: arrays[0].shape,
      low: -1,
      high: 1,
    });
    // The next iteration of a loop reads what this one assigns.
    if (this.#scene.depth > 0) this.#scene.become(state.id, { ...state, taint: value.taint });
    const kept = this.#scene.call('mul', [{ ref: state.id }, 0.75])?.[0];
    const sum = kept && this.#scene.call('add', [{ ref: kept.id }, { ref: id }])?.[0];
    if (sum === undefined) return;
    this.#scene.steps.push({
      op: 'assign',
      args: [{ ref: state.id }, { ref: sum.id }],
      results: [],
    });
    this.#scene.become(state.id, sum);
  }

  #operate(declaration: Declaration): void {
    const sample = this.#choices.pick(declaration.samples);
    const sizes = this.#trials.map((trial) => trial.sizes);
    const operands = new Operands(this.#choices, declaration, sample, sizes, (expected) =>
      this.#acquire(declaration, expected),
    );
    const args = operands.arguments();
    if (this.#choices.chance(0.25) && declaration.check === undefined) {
      const changed = mutate(args, this.#choices);
      if (this.#scene.call(declaration.name, changed) !== null) return;
    }
    this.#scene.call(declaration.name, args);
  }

  /** A value that can stand for a sample's array; a new input where there is none. */
  #acquire(declaration: Declaration, expected: Expected): Known {
    const { array, fits } = expected;
    const dtype = recolor(array.dtype, this.#palette, this.#choices);
    const [low, high] = [array.low, array.high];
    const isChecked = declaration.check !== undefined && !isFloat(array.dtype);
    if (array.values === undefined && !isChecked) {
      const isFree = low === -2 && high === 2;
      const mustBeExact = needsExact(declaration.name);
      const candidates = this.#scene.pool.filter(
        (known) =>
          (known.dtype === dtype || (this.#choices.chance(0.05) && sameKind(known.dtype, dtype))) &&
          (known.isTame || this.#choices.chance(0.02)) &&
          (known.taint === 0 || !mustBeExact) &&
          fits(known),
      );
      const inRange = candidates.filter((known) => known.low >= low && known.high <= high);
      const varied = candidates.filter(isVaried);
      const list = isFree && varied.length > 0 ? varied : inRange.length > 0 ? inRange : candidates;
      if (list.length > 0 && this.#choices.chance(0.92)) {
        // What nothing has read yet first, so that programs do not fray.
        const fresh = list.filter(({ id }) => !this.#scene.read.has(id));
        const found = this.#choices.late(fresh.length > 0 && this.#choices.chance(0.7) ? fresh : list); // prettier-ignore
        if (isFree || inRange.includes(found) || !isFloat(found.dtype)) return found;
        return this.#squeezed(found, low, high) ?? found;
      }
    }
    const extents = expected.extents();
    if (array.values === undefined && !isChecked && this.#choices.chance(0.8)) {
      const reshaped = this.#reshaped(dtype, extents, needsExact(declaration.name));
      if (reshaped !== null) return reshaped;
    }
    return this.#input(dtype, extents, [kindOf(dtype) === 'int' && dtype === 'uint8' ? Math.max(0, low) : low, high], array.values); // prettier-ignore
  }

  /** The elements of some value in another shape, cut off or repeated; for programs of one size only. */
  #reshaped(dtype: DType, extents: readonly Extent[], mustBeExact: boolean): Known | null {
    if (this.#sizes.length > 1) return null;
    const shape = shapeAt(extents, this.#sizes[0]);
    const wanted = sizeOf(shape);
    const candidates = this.#scene.pool.filter(
      (known) =>
        known.dtype === dtype &&
        known.isTame &&
        isFixed(known) &&
        known.arrays[0].size > 0 &&
        (known.taint === 0 || !mustBeExact),
    );
    if (candidates.length === 0) return null;
    const fresh = candidates.filter(({ id }) => !this.#scene.read.has(id));
    const exact = candidates.filter(({ arrays }) => arrays[0].size === wanted);
    const source = this.#choices.late(
      exact.length > 0 && this.#choices.chance(0.8) ? exact : fresh.length > 0 ? fresh : candidates,
    );
    const { size } = source.arrays[0];
    let flat: Known | undefined = source;
    const then = (op: string, ...args: readonly Argument[]): void => {
      flat = flat && this.#scene.call(op, [{ ref: flat.id }, ...args])?.[0];
    };
    if (source.arrays[0].ndim !== 1) then('flatten');
    if (size < wanted) then('tile', Math.ceil(wanted / size));
    if (size !== wanted) then('slice', [0, wanted]);
    then('reshape', shape);
    return flat ?? null;
  }

  /** A value of the same shape between two bounds. */
  #squeezed(known: Known, low: number, high: number): Known | null {
    const waves = this.#scene.call('sin', [{ ref: known.id }])?.[0];
    const scaled = waves && this.#scene.call('mul', [{ ref: waves.id }, (high - low) * 0.48])?.[0];
    return scaled
      ? (this.#scene.call('add', [{ ref: scaled.id }, (high + low) / 2])?.[0] ?? null)
      : null;
  }
}

/** The arguments with one of the plain ones a little different: often another valid call, or else a refused one. */
function mutate(args: readonly Argument[], choices: Choices): readonly Argument[] {
  const change = (argument: Argument): Argument => {
    if (typeof argument === 'boolean') return !argument;
    if (typeof argument === 'number') {
      if (Number.isInteger(argument)) return argument + choices.pick([-1, 1, -2]);
      return argument * choices.pick([0.5, -1, 2]);
    }
    if (Array.isArray(argument) && argument.length > 0) {
      const at = choices.below(argument.length);
      return argument.map((entry: Argument, i) => (i === at ? change(entry) : entry));
    }
    if (typeof argument === 'object' && argument !== null && !('ref' in argument)) {
      const key = choices.pick(Object.keys(argument));
      return { ...argument, [key]: change((argument as Record<string, Argument>)[key]) };
    }
    return argument;
  };
  const at = choices.below(args.length);
  return args.map((argument, i) => (i === at ? change(argument) : argument));
}
