import * as kn from '../../../src/index.js';
import { generator } from '../../support/samples.js';

import { byHand } from './by-hand.js';
import { type Arrays, arrayOf, functions, mainOf, numbersOf, plainFloats } from './running.js'; // prettier-ignore
import { plain } from './plain.js';
import type { Value } from './draft.js';
import type { Kind } from './kinds.js';
import { width, Writer } from './writer.js';

/*
 * State that loops and branches write, random numbers, checks that fail on the way and steps of optimizers: captured
 * and by plain loops of eager code, call after call.
 */

const parameters: readonly Value[] = [
  { name: 'limit', kind: 'int', dims: [], own: 0 },
  { name: 'm', kind: 'bool', dims: [width], own: 0 },
  { name: 's', kind: 'float', dims: [], own: 0 },
  { name: 'w', kind: 'float', dims: [width], own: 0 },
  { name: 'x', kind: 'float', dims: [3, width], own: 0 },
];

const optimizers = ['none', 'SGD', 'Adam', 'RMSProp'] as const;

export interface Effects {
  readonly text: string;
  readonly way: 'hybridize' | 'static' | 'recorded';
  readonly optimizer: (typeof optimizers)[number];
  /** Optimizer steps are the iterations of a captured loop. */
  readonly isLoop: boolean;
}

function make(random: () => number): Effects {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];
  const optimizer = pick(optimizers);
  const way = pick(['hybridize', 'static', 'recorded'] as const);
  const isLoop = random() > 0.6;
  return { text: new Writer(random, true).main(parameters), way, optimizer, isLoop };
}

const calls = 4;

/** What one user of a program owns: state, parameters, an optimizer. */
class Owner {
  readonly state: { readonly p: kn.NDArray; readonly t: kn.NDArray };
  readonly params: readonly kn.nn.Parameter[];
  readonly #optimizer: kn.optim.Optimizer | null;

  constructor({ optimizer }: Effects, seed: number) {
    const random = generator(seed * 13 + 1);
    const [p, t, w, s] = [[width], [], [width], []].map((shape) =>
      arrayOf(plainFloats(shape, random)),
    );
    for (const one of [p, t]) one.attachGrad({ req: 'null' });
    this.state = { p, t };
    this.params = [w, s].map((value) => {
      const param = new kn.nn.Parameter({ shape: value.shape, dtype: 'float64' });
      param.initialize();
      param.assign(value);
      return param;
    });
    this.#optimizer =
      optimizer === 'none' ? null : new kn.optim[optimizer](new Map(this.params.map((one, k) => [`p${k}`, one])), { learningRate: 0.05, ...(optimizer === 'SGD' && { momentum: 0.9 }) }); // prettier-ignore
  }

  /** What a call computes: the loss, and a step by its gradients where there is an optimizer. */
  step(main: (...args: Arrays) => kn.NDArray, args: Arrays): kn.NDArray {
    if (this.#optimizer === null) return main(...args);
    const [limit, m, , , x] = args;
    const [w, s] = this.params.map(({ value }) => value);
    const loss = kn.autograd.record(() => main(limit, m, s, w, x).add(w.sum().add(s).mul(0.01)));
    loss.backward();
    this.#optimizer.step();
    return loss;
  }

  /** Numbers of everything that is kept between calls. */
  kept(): number[] {
    return [...Object.values(this.state), ...this.params.map(({ value }) => value)].flatMap(
      numbersOf,
    );
  }

  load(numbers: readonly number[]): void {
    let at = 0;
    for (const one of [...Object.values(this.state), ...this.params.map(({ value }) => value)]) {
      one.assign(kn.array(numbers.slice(at, (at += one.size)), { dtype: 'float64' }).reshape(one.shape)); // prettier-ignore
    }
  }
}

function argsOf(seed: number, call: number): kn.NDArray[] {
  const random = generator(seed * 31 + call);
  const mask = Array.from({ length: width }, () => Number(random() < 0.6));
  const data = [
    plain('int32', [], [1 + Math.floor(random() * 3)]),
    plain('bool', [width], mask),
    plainFloats([], random),
    plainFloats([width], random),
    plainFloats([3, width], random),
  ];
  return data.map(arrayOf);
}

/** The value, with a part of each argument that gradients are asked of. */
function withAll(value: kn.NDArray, args: Arrays): kn.NDArray {
  return args.slice(2).reduce((sum, x) => sum.add(x.sum().mul(0)), value);
}

/** A function that runs one call. */
function runner(program: Effects, owner: Owner): (args: Arrays) => Arrays {
  const { text, way, optimizer, isLoop } = program;
  const main = mainOf<kn.NDArray>(text, functions, owner.state);
  if (way === 'recorded' && optimizer === 'none') {
    const captured = kn.hybridize((...args: Arrays) => main(...args));
    return (args) => {
      for (const x of args.slice(2)) x.attachGrad();
      const value = kn.autograd.record(() => withAll(captured(...args), args));
      value.backward();
      return [value, ...args.slice(2).map((x) => x.grad!)];
    };
  }
  const step = (...args: Arrays): kn.NDArray => {
    if (!isLoop || optimizer === 'none') return owner.step(main, args);
    const body = (): [kn.NDArray, never[]] => [owner.step(main, args), []];
    return kn.foreach(body, kn.arange(0, 2), [] as never[])[0].sum();
  };
  const captured = way === 'static' ? kn.staticGraph(step) : kn.hybridize(step);
  return (args) => [captured(...args)];
}

function expectedRunner(program: Effects, owner: Owner): (args: Arrays) => Arrays {
  const { text, way, optimizer, isLoop } = program;
  const main = mainOf<kn.NDArray>(text, byHand, owner.state);
  if (way === 'recorded' && optimizer === 'none') {
    return (args) => {
      for (const x of args.slice(2)) x.attachGrad();
      const value = kn.autograd.record(() => withAll(main(...args), args));
      value.backward();
      return [value, ...args.slice(2).map((x) => x.grad!)];
    };
  }
  return (args) => {
    if (!isLoop || optimizer === 'none') return [owner.step(main, args)];
    return [owner.step(main, args).add(owner.step(main, args))];
  };
}

async function differenceOf(
  program: Effects,
  seed: number,
  onCompared: () => void,
): Promise<string | null> {
  // prettier-ignore
  const [owner, other] = [new Owner(program, seed), new Owner(program, seed)];
  const [run, expect] = [runner(program, owner), expectedRunner(program, other)];
  for (let call = 0; call < calls; call++) {
    const before = other.kept();
    let expected: number[] | string;
    kn.random.seed(seed + call);
    try {
      expected = expect(argsOf(seed, call)).flatMap(numbersOf);
    } catch (error) {
      if (!(error instanceof kn.CheckError)) return null;
      expected = error.name;
      // An optimizer may have counted a step.
      if (program.optimizer !== 'none') return null;
      other.load(before);
    }
    const kept = other.kept();
    if ([...kept, ...(typeof expected === 'string' ? [] : expected)].some((each) => !(Math.abs(each) < 1e4))) return null; // prettier-ignore
    kn.random.seed(seed + call);
    let found: number[] | string;
    try {
      found = run(argsOf(seed, call)).flatMap(numbersOf);
    } catch (error) {
      if (!(error instanceof kn.CheckError)) return `call ${call}: ${error instanceof Error ? error.stack : String(error)}`; // prettier-ignore
      found = error.name;
    }
    onCompared();
    if (typeof found === 'string' || typeof expected === 'string') {
      if (found !== expected) return `call ${call}: gives ${found}, not ${expected}`;
    } else {
      const wrong = difference(found, expected, call);
      if (wrong) return `call ${call}: results are ${found.join()}, not ${expected.join()}`;
    }
    if (difference(owner.kept(), kept, call)) return `call ${call}${typeof expected === 'string' ? ', refused' : ''}: state is ${owner.kept().join()}, not ${kept.join()}`; // prettier-ignore
  }
  return null;
}

/** Steps make a rounding larger, call after call. */
function difference(found: readonly number[], expected: readonly number[], call: number): boolean {
  const scale = Math.max(1, ...expected.map(Math.abs));
  return found.length !== expected.length || found.some((x, k) => !(Math.abs(x - expected[k]) <= 1e-9 * 30 ** call * scale)); // prettier-ignore
}

export const effects: Kind<Effects> = { make, differenceOf };
