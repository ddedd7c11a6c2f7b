import type { Declaration, Sample, SampleArray } from '../../src/ops/declare/declare.js';
import { broadcasts, type Choices, isOpen, type Known, sameShapes } from './pool.js';
import { type Argument, type Extent, shapeAt, type Sizes } from './program.js';

/** What an operand has to be. */
export interface Expected {
  readonly array: SampleArray;
  fits(known: Known): boolean;
  /** The shape of a value made for it. */
  extents(): readonly Extent[];
}

/** Replaces the arrays in a sample's arguments by values of the program. */
export class Operands {
  readonly #names: Map<string, { readonly extent: string; readonly sizes: readonly number[] }> =
    new Map();
  readonly #found: Known[] = [];
  readonly #isLoose: boolean;
  readonly #choices: Choices;
  readonly #sample: Sample;
  readonly #sizes: readonly Sizes[];
  readonly #acquire: (expected: Expected) => Known;

  constructor(
    choices: Choices,
    { family }: Declaration,
    sample: Sample,
    sizes: readonly Sizes[],
    acquire: (expected: Expected) => Known,
  ) {
    this.#choices = choices;
    this.#sample = sample;
    this.#sizes = sizes;
    this.#acquire = acquire;
    // Elementwise operators take any shapes that broadcast.
    this.#isLoose = family === 'elementwise' && choices.chance(0.8);
  }

  arguments(): readonly Argument[] {
    return this.#sample.args.map((argument) => this.#place(argument));
  }

  #place(argument: unknown): Argument {
    if (Array.isArray(argument)) return argument.map((entry) => this.#place(entry));
    if (!isSampleArray(argument)) return argument as Argument;
    const known = this.#acquire(this.#isLoose ? this.#loose(argument) : this.#strict(argument));
    this.#found.push(known);
    if (!this.#isLoose) this.#bind(argument, known);
    return { ref: known.id };
  }

  /** A value whose shapes broadcast with those of the operands before it. */
  #loose(array: SampleArray): Expected {
    const first = this.#found.at(0);
    // Mostly equal shapes of low rank: every pattern of sizes is code of its own, and takes its time.
    const isPlain = this.#choices.chance(0.75);
    const rank = this.#choices.chance(0.85) ? 2 : 5;
    const fit = isPlain ? sameShapes : broadcasts;
    return {
      array,
      fits: (known) =>
        known.arrays[0].ndim <= rank && this.#found.every((other) => fit(other, known)),
      extents: () => (first === undefined ? this.#choices.pick([['n', 'm'], ['m'], []]) : []),
    };
  }

  /** A value of the sample's pattern: the same name is the same size. */
  #strict(array: SampleArray): Expected {
    return {
      array,
      fits: ({ arrays, extents }) => {
        if (extents.length !== array.shape.length) return false;
        const local = new Map<string, string>();
        return array.shape.every((extent, axis) => {
          const sizes = arrays.map(({ shape }) => shape[axis]);
          if (typeof extent === 'number') return !isOpen(extents[axis]) && sizes.every((size) => size === extent); // prettier-ignore
          if (sizes.some((size) => size < (this.#sample.least?.[extent] ?? 0))) return false;
          const bound = this.#names.get(extent)?.extent ?? local.get(extent);
          local.set(extent, extents[axis]);
          return bound === undefined || bound === extents[axis];
        });
      },
      extents: () => array.shape.map((extent) => (typeof extent === 'number' ? extent : this.#extent(extent))), // prettier-ignore
    };
  }

  /** The extent that a name has in a new input. */
  #extent(name: string): Extent {
    const least = this.#sample.least?.[name] ?? 0;
    const bound = this.#names.get(name)?.sizes;
    const options: readonly Extent[] = ['n', 'm', 'n', 'm', 1, 2, 3, 0];
    const fitting = options.filter((extent) => {
      const sizes = this.#sizes.map((size) => shapeAt([extent], size)[0]);
      return bound === undefined
        ? sizes.every((size) => size >= least)
        : sizes.every((size, i) => size === bound[i]);
    });
    // A size that differs from trial to trial meets 1 or nothing: captured code could not know that 0 and 1 meet 0.
    const isSame = bound?.every((size) => size === bound[0]) ?? true;
    const other = isSame ? (bound?.[0] ?? least) : 1;
    const chosen = fitting.length > 0 ? this.#choices.pick(fitting) : other;
    const found = this.#sizes.map((size) => shapeAt([chosen], size)[0]);
    this.#names.set(name, { extent: found.join(), sizes: found });
    return chosen;
  }

  #bind(array: SampleArray, { arrays, extents }: Known): void {
    array.shape.forEach((extent, axis) => {
      if (typeof extent === 'number') return;
      const sizes = arrays.map(({ shape }) => shape[axis]);
      this.#names.set(extent, { extent: extents[axis], sizes });
    });
  }
}

function isSampleArray(value: unknown): value is SampleArray {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'array'; // prettier-ignore
}
