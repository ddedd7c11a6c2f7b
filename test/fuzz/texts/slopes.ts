import * as kn from '../../../src/index.js';
import { generator } from '../../support/samples.js';

import * as n from './duals.js';
import { Misfit, plain, type Plain } from './plain.js';
import { Undecided } from './plain-flow.js';
import { type Arrays, arrayOf, functions, mainOf, type Main, plainFloats, plainMain } from './running.js'; // prettier-ignore
import type { Value } from './draft.js';
import type { Kind } from './kinds.js';
import { writeNest } from './nests.js';
import { width, Writer } from './writer.js';

/*
 * Derivatives of first to third order along a direction, against numbers that carry them through plain loops.
 */

const parameters: readonly Value[] = [
  { name: 'limit', kind: 'int', dims: [], own: 0 },
  { name: 'q', kind: 'bool', dims: [width], own: 0 },
  { name: 'm', kind: 'bool', dims: [width], own: 0 },
  { name: 's', kind: 'float', dims: [], own: 0 },
  { name: 'w', kind: 'float', dims: [width], own: 0 },
  { name: 'x', kind: 'float', dims: [3, width], own: 0 },
];

/** The parameters that derivatives are taken by: the last ones. */
const smooth = 3;

export const ways = ['eager', 'whole', 'around', 'kept', 'static', 'deferred'] as const;
export type Way = (typeof ways)[number];

export interface Slopes {
  readonly text: string;
  readonly way: Way;
  readonly order: number;
  readonly save: 'auto' | 'all' | 'none';
}

export interface SlopesOptions {
  /** Functions in place of those of the library. */
  readonly given?: object;
  /** Writes a program of parameters. Default: statements at random. */
  readonly write?: (random: () => number, params: readonly Value[]) => string;
  /** The device that programs run on, which answers at once and has no float64. Default: this one. */
  readonly device?: string;
}

/** What runs on devices is captured as a whole, or once: running counts of rows are int64, which they lack outside. */
const onDevices: readonly Way[] = ['whole', 'whole', 'around'];

function make(
  random: () => number,
  { write = (source, params) => new Writer(source).main(params), device }: SlopesOptions,
): Slopes {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];
  const order = pick([1, 2, 1, 2, 3]);
  const way = pick<Way>(device === undefined ? [...ways, 'whole', 'around', 'kept', 'whole'] : onDevices); // prettier-ignore
  const save = pick(['auto', 'all', 'none'] as const);
  const isOnce = device !== undefined && way !== 'whole';
  return { text: write(random, parameters), way, order: isOnce ? 1 : order, save };
}

/** The data of a call: ordinary, with little that is selected, and with much. */
export function dataOf(seed: number, variant: number): Plain[] {
  const random = generator(seed * 31 + variant);
  const mask = (): Plain => plain('bool', [width], Array.from({ length: width }, () => Number(random() < [0.6, 0.1, 1][variant]))); // prettier-ignore
  return [
    plain('int32', [], [[1 + Math.floor(random() * 3), 0, 3][variant]]),
    mask(),
    mask(),
    plainFloats([], random),
    plainFloats([width], random),
    plainFloats([3, width], random),
  ];
}

/** The numbers as a dtype has them. */
function rounded(one: Plain, dtype: 'float64' | 'float32'): Plain {
  return dtype === 'float64' ? one : { ...one, data: one.data.map((x) => Math.fround(n.valueOf(x))) }; // prettier-ignore
}

/** Floats that are a few roundings of float32 off. */
function nudged(one: Plain): Plain {
  if (one.dtype !== 'float64') return one;
  return { ...one, data: one.data.map((x, i) => n.mul(x, 1 + (i % 2 === 0 ? 1 : -1) * 2 ** -21)) };
}

function directionsOf(seed: number): Plain[] {
  const random = generator(seed * 17 + 5);
  return [plainFloats([], random), plainFloats([width], random), plainFloats([3, width], random)];
}

/**
 * The value and its derivatives along a direction, by plain loops; null where no iteration decides a size, and where numbers
 * on the way there are beyond the greatest one.
 */
function expectedOf(
  main: Main<Plain>,
  data: readonly Plain[],
  along: readonly Plain[],
  order: number,
  most: number,
): number[] | null {
  // prettier-ignore
  const tags = Array.from({ length: order }, () => n.newTag());
  const moved = data.map((one, k) => {
    const by = along[k - data.length + smooth];
    if (by === undefined) return one;
    const perturbed = one.data.map((x, i) => tags.reduce((y, tag) => new n.Dual(tag, y, by.data[i]), x)); // prettier-ignore
    return { ...one, data: perturbed };
  });
  try {
    const [made, greatest] = n.withGreatest(() => main(...moved));
    if (greatest > most) return null;
    let number = made.data[0];
    const found: n.Num[] = [];
    // The derivative by the last k perturbations, without the others.
    for (let k = 0; k <= order; k++) {
      found.push(tags.toReversed().reduce((y: n.Num, tag, i) => (i < k ? n.slopeOf(y, tag) : n.baseOf(y, tag)), number)); // prettier-ignore
    }
    return found.map(n.valueOf);
  } catch (error) {
    if (error instanceof Undecided) return null;
    throw error;
  }
}

type Numeric = (...args: Arrays) => kn.NDArray;

/** The derivative of a function along a direction. */
function along(f: Numeric, by: Arrays, given: number): Numeric {
  const positions = by.map((_, k) => given - by.length + k);
  return (...args) =>
    kn.grad(f, positions)(...args).map((slope, k) => slope.mul(by[k]).sum()).reduce((a, b) => a.add(b)); // prettier-ignore
}

function derivative(f: Numeric, by: Arrays, given: number, order: number): Numeric {
  return order === 0 ? f : along(derivative(f, by, given, order - 1), by, given);
}

/** A function from data to the derivatives of order 0 to `order`. */
function runner(
  given: object,
  { text, way, order, save }: Slopes,
  by: Arrays,
): (args: Arrays) => Arrays {
  // prettier-ignore
  const main = mainOf<kn.NDArray>(text, given);
  const count = parameters.length;
  const all = (f: Numeric) => (...args: Arrays): Arrays => Array.from({ length: order + 1 }, (_, k) => derivative(f, by, count, k)(...args)); // prettier-ignore
  if (way === 'eager') return (args) => all(main)(...args);
  if (way === 'whole') {
    const captured = kn.hybridize(all(main), { save });
    return (args) => captured(...args);
  }
  if (way === 'static') {
    const captured = kn.staticGraph(all(main));
    return (args) => captured(...args);
  }
  if (way === 'deferred') return (args) => kn.deferredCompute(() => [...all(main)(...args)]);
  if (way === 'around') {
    const captured = kn.hybridize(main, { save });
    return (args) => all(captured)(...args);
  }
  return keeping(main, by, order, save);
}

/** First derivatives that arrays keep, added up over two passes; the arrays are captured from outside. */
function keeping(
  main: Numeric,
  by: Arrays,
  order: number,
  save: Slopes['save'],
): (args: Arrays) => Arrays {
  // prettier-ignore
  const outside = by.map((one) => kn.zerosLike(one));
  for (const x of outside) x.attachGrad({ req: 'add' });
  const captured = kn.hybridize((...rest: Arrays) => derivative(main, by, parameters.length, order - 1)(...rest, ...outside), { save }); // prettier-ignore
  return (args) => {
    const rest = args.slice(0, -smooth);
    outside.forEach((x, k) => x.assign(args[args.length - smooth + k]));
    const before = outside.map((x) => x.grad!);
    let value!: kn.NDArray;
    for (let pass = 0; pass < 2; pass++) {
      value = kn.autograd.record(() => captured(...rest));
      value.backward();
    }
    const slope = outside
      .map((x, k) => x.grad!.sub(before[k]).mul(by[k]).sum())
      .reduce((a, b) => a.add(b));
    return [value, slope.mul(0.5)];
  };
}

/** Greatest numbers of computations that are compared. */
const mosts = { float64: Infinity, float32: 2 ** 120 } as const;

/** Roundings may add up to this part of the largest derivative. */
const tolerances = { float64: 1e-9, float32: 3e-4 } as const;

/** True where two lists of numbers agree up to roundings. */
function isNear(found: readonly number[], expected: readonly number[], tolerance: number): boolean {
  const scale = Math.max(1, ...expected.map(Math.abs));
  return expected.every((x, k) => Math.abs(x - found[k]) <= tolerance * scale);
}

/** How a program differs from plain loops; null where it does not, or where nothing is to be compared. */
async function differenceOf(
  { given = functions, device }: SlopesOptions,
  program: Slopes,
  seed: number,
  onCompared: () => void,
): Promise<string | null> {
  // prettier-ignore
  const { way, order, text } = program;
  const reference = plainMain(text);
  const dtype = device === undefined ? 'float64' : 'float32';
  const place = (one: Plain): kn.NDArray => device === undefined ? arrayOf(one) : arrayOf({ ...one, dtype: one.dtype === 'float64' ? dtype : one.dtype }).to(device); // prettier-ignore
  const directions = directionsOf(seed).map((one) => rounded(one, dtype));
  let run: ((args: Arrays) => Arrays) | null = null;
  // The second call is one of a graph that has been given other sizes.
  for (const variant of [0, 1, 2, 0]) {
    const data = dataOf(seed, variant).map((one) => rounded(one, dtype));
    let expected: number[] | null;
    try {
      const most = mosts[dtype];
      expected = expectedOf(reference, data, directions, order, most);
      // Tests and sums that a rounding turns over tell nothing.
      const nearby =
        dtype === 'float64'
          ? expected
          : expectedOf(reference, data.map(nudged), directions, order, most);
      if (expected === null || nearby === null || !isNear(nearby, expected, tolerances[dtype] / 3))
        continue;
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      return null;
    }
    if (expected.some((x) => !(Math.abs(x) < 1e5))) continue;
    if (way === 'kept') expected = expected.slice(-2);
    try {
      run ??= runner(given, program, directions.map(place));
      const found = run(data.map(place)).map((one) => Number(one.item()));
      onCompared();
      if (!isNear(found, expected, tolerances[dtype]))
        return `data ${variant}: derivatives are ${found.join()}, not ${expected.join()}`;
    } catch (error) {
      return `data ${variant}: ${error instanceof Error ? error.stack : String(error)}`;
    }
  }
  return null;
}

export function slopesBy(options: SlopesOptions): Kind<Slopes> {
  return {
    make: (random) => make(random, options),
    differenceOf: (...args) => differenceOf(options, ...args),
  };
}

export const slopes: Kind<Slopes> = slopesBy({});

/** Derivatives of nests, on a device where it is told which. */
export function nestsOn(device?: string): Kind<Slopes> {
  if (device === undefined) return slopesBy({ write: writeNest });
  return slopesBy({ write: (random, params) => writeNest(random, params, false), device });
}
