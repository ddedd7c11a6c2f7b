import * as e from '../../../../src/loop/language/build.js';
import type { Expr, Kernel, Stmt } from '../../../../src/loop/language/nodes.js';
import type { KernelStep, RowPadding, MainStep } from '../../../../src/passes/lower/main/steps.js';
import type { TableLayout } from '../../../../src/passes/lower/main/table.js';

/*
 * Random steps of `main`, on arrays of a few integers whose memory is used again as soon as it may be, and
 * what they leave behind when they run one after the other.
 */

/** Elements of each array. */
export const length = 6;

/** Numbers from 0 up to a limit, which is not among them. */
export type Choose = (limit: number) => number;

/** An array; where it lies follows from when it is needed. */
interface Place {
  first: number;
  last: number;
  /** What it holds before the first step; null for what steps write. */
  readonly given: readonly number[] | null;
}

/** A step, and what it does to arrays by place. */
interface Action {
  readonly step: MainStep;
  run(values: Map<number, number[]>): void;
}

export interface RandomSteps {
  readonly steps: readonly MainStep[];
  readonly table: TableLayout;
  /** The memory before `main` runs, with the table in it. */
  readonly memory: () => ArrayBuffer;
  readonly tableAt: number;
  /** The arrays that are there at the end: where they lie, and what is in them. */
  readonly expected: ReadonlyMap<number, readonly number[]>;
}

/** `to[i] = 3 * a[n - 1 - i] + b[i] + more` for all elements, or for those that fall to a thread. */
function mixKernel(name: string, more: number, isDivided: boolean): Kernel {
  const [a, b, to] = ['a', 'b', 'to'].map((name) => e.buffer(name, 'i32'));
  const [thread, threads] = ['thread', 'threads'].map((name) => e.variable(name, 'i32'));
  const body = e.forLoop('i', 0, length, (i): Stmt => {
    const mixed = e.add(e.mul(e.load(a, e.sub(length - 1, i)), 3), e.add(e.load(b, i), more));
    const write = e.store(to, i, mixed);
    return isDivided ? e.ifThen(e.eq(e.rem(i, threads), thread), write) : write;
  });
  return e.kernel(name, isDivided ? [a, b, to, thread, threads] : [a, b, to], body);
}

const mix = (a: readonly number[], b: readonly number[], more: number): number[] =>
  a.map((_, i) => (Math.imul(a[length - 1 - i], 3) + b[i] + more) | 0);

/** A kernel with one array that it computes one number of in place: a flag, or a counter. */
function numberKernel(name: string, value: (old: Expr) => Expr, storage: 'i32' | 'u8'): Kernel {
  const [from, to] = [e.buffer('from', 'i32'), e.buffer('to', storage)];
  return e.kernel(name, [from, to], e.store(to, 0, value(e.load(from, 0))));
}

const countUp: Kernel = numberKernel('count', (old) => e.add(old, 1), 'i32');
const isBelow = (limit: number): Kernel =>
  numberKernel(`below_${limit}`, (old) => e.cast('i32', e.lt(old, limit)), 'u8');

class Generator {
  readonly #choose: Choose;
  readonly places: Place[] = [];
  /** The number of the next step. */
  #next = 1;
  /** Where loops that are open began to look at arrays from outside. */
  readonly #loops: { readonly known: number; readonly touched: Set<number> }[] = [];

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  given(values: readonly number[]): number {
    return this.places.push({ first: 0, last: 0, given: values }) - 1;
  }

  #fresh(): number {
    return this.places.push({ first: this.#next, last: this.#next, given: null }) - 1;
  }

  #touch(...places: readonly number[]): void {
    for (const place of places) {
      this.places[place].last = Math.max(this.places[place].last, this.#next);
      for (const { known, touched } of this.#loops) if (place < known) touched.add(place);
    }
  }

  #kernel(kernel: Kernel, places: readonly number[], isDivided: boolean): KernelStep {
    this.#touch(...places);
    const args = places.map((place) => ({ kind: 'place', place }) as const);
    const team = isDivided ? ([{ kind: 'thread' }, { kind: 'threads' }] as const) : [];
    const grains = isDivided ? 1 + this.#choose(4) : null;
    return { kind: 'kernel', kernel: { kernel, args: [...args, ...team], grains }, step: this.#next++ }; // prettier-ignore
  }

  /** Some steps; `known` are the arrays that hold something, to which new ones are added. */
  some(known: number[], count: number, depth: number): readonly Action[] {
    return Array.from({ length: count }).flatMap((): readonly Action[] => {
      const kind = depth === 0 ? 0 : this.#choose(8);
      if (kind === 5) return [this.#branch(known, depth - 1)];
      if (kind === 6) return [this.#foreach(known, depth - 1)];
      if (kind === 7) return this.#while(known, depth - 1);
      return [this.#mix(known)];
    });
  }

  #one(list: readonly number[]): number {
    return list[this.#choose(list.length)];
  }

  #mix(known: number[]): Action {
    const [a, b] = [this.#one(known), this.#one(known)];
    const isNew = this.#choose(3) > 0;
    const others = known.filter((place) => place !== a && this.places[place].given === null);
    const to = isNew || others.length === 0 ? this.#fresh() : this.#one(others);
    if (!known.includes(to)) known.push(to);
    const isDivided = this.#choose(2) > 0;
    const more = this.#choose(100);
    const kernel = mixKernel(`mix_${more}_${this.#next}`, more, isDivided);
    const step = this.#kernel(kernel, [a, b, to], isDivided);
    return {
      step,
      run: (values) => void values.set(to, mix(values.get(a)!, values.get(b)!, more)),
    };
  }

  #branch(known: number[], depth: number): Action {
    const yes = this.#choose(2) > 0;
    const predicate = this.given([Number(yes)]);
    const first = this.#next;
    this.#touch(predicate);
    this.#next++;
    const [consequent, alternate] = [0, 1].map(() => this.some([...known], 1 + this.#choose(3), depth)); // prettier-ignore
    const span = { first, last: this.#next - 1 };
    const stepsOf = (list: readonly Action[]): readonly MainStep[] => list.map(({ step }) => step);
    return {
      step: { kind: 'branch', span, predicate, consequent: stepsOf(consequent), alternate: stepsOf(alternate) }, // prettier-ignore
      run: (values) => (yes ? consequent : alternate).forEach((action) => action.run(values)),
    };
  }

  /** What is used inside of a loop and comes from outside is needed until it ends. */
  #inLoop<R>(print: () => R): R {
    const loop = { known: this.places.length, touched: new Set<number>() };
    this.#loops.push(loop);
    const result = print();
    this.#loops.pop();
    this.#next++;
    for (const place of loop.touched) this.#touch(place);
    return result;
  }

  /** Rows of a result that a loop does not come to: of two elements each. */
  #padding(known: readonly number[]): readonly RowPadding[] {
    const places = known.filter((place) => this.places[place].given === null);
    if (places.length === 0) return [];
    return [{ location: this.#one(places), storage: 'i32', elements: 2 }];
  }

  #foreach(known: number[], depth: number): Action {
    const rows = length / 2;
    const trips = this.#choose(rows + 1);
    const count = this.#choose(2) > 0 ? this.given([trips]) : null;
    const first = this.#next++;
    const body = this.#inLoop(() => {
      if (count !== null) this.#touch(count);
      return this.some([...known], 1 + this.#choose(3), depth);
    });
    const paddings = count === null ? [] : this.#padding(known);
    this.#touch(...paddings.map(({ location }) => location));
    const span = { first, last: this.#next++ };
    const size = count === null ? trips : rows;
    return {
      step: { kind: 'foreach', span, length: size, reverse: false, count, rows: [], states: [], body: body.map(({ step }) => step), paddings }, // prettier-ignore
      run: (values) => {
        for (let i = 0; i < trips; i++) body.forEach((action) => action.run(values));
        for (const { location } of paddings) values.get(location)!.fill(0, 2 * trips);
      },
    };
  }

  #while(known: number[], depth: number): readonly Action[] {
    const below = this.#choose(4);
    const limit = this.#choose(3) > 0 ? 2 : null;
    const trips = limit === null ? below : Math.min(below, limit);
    const zeros = this.given(Array<number>(length).fill(0));
    const counter = this.#fresh();
    const start = this.#kernel(mixKernel(`start_${counter}`, 0, false), [zeros, zeros, counter], false); // prettier-ignore
    const first = this.#next++;
    const predicate = this.#fresh();
    const { condition, body, count } = this.#inLoop(() => ({
      condition: this.#kernel(isBelow(below), [counter, predicate], false),
      body: this.some([...known], 1 + this.#choose(3), depth),
      count: this.#kernel(countUp, [counter, counter], false),
    }));
    const paddings = limit === null ? [] : this.#padding(known);
    this.#touch(...paddings.map(({ location }) => location));
    const iterations = this.#choose(2) > 0 ? this.#fresh() : undefined;
    const span = { first, last: this.#next++ };
    const steps = [...body.map(({ step }) => step), count];
    return [
      { step: start, run: (values) => void values.set(counter, Array<number>(length).fill(0)) },
      {
        step: { kind: 'while', span, limit, rows: [], states: [], condition: [condition], predicate, body: steps, paddings, iterations }, // prettier-ignore
        run: (values) => {
          for (let i = 0; i < trips; i++) body.forEach((action) => action.run(values));
          for (const { location } of paddings) values.get(location)!.fill(0, 2 * trips, 2 * limit!);
          if (iterations !== undefined) values.set(iterations, [trips]);
        },
      },
    ];
  }
}

/** The first byte of each array; memory is shared by arrays that are not needed at the same time. */
function layOut(places: readonly Place[]): {
  readonly at: readonly number[];
  readonly end: number;
} {
  const bytes = 4 * length;
  // The barrier's words come first.
  const begin = 256;
  const free: { at: number; last: number }[] = [];
  const at: number[] = places.map(() => 0);
  const order = places.map((_, place) => place).sort((a, b) => places[a].first - places[b].first);
  for (const place of order) {
    const { first, last } = places[place];
    let slot = free.find((each) => each.last < first);
    if (slot === undefined) free.push((slot = { at: begin + bytes * free.length, last }));
    slot.last = last;
    at[place] = slot.at;
  }
  return { at, end: begin + bytes * free.length };
}

/** The step after the last, which needs outputs. */
const after = 1_000_000;

/** Steps, as choices decide. */
export function randomSteps(choose: Choose): RandomSteps {
  const generator = new Generator(choose);
  const { places } = generator;
  const known = [1, 2].map((k) => generator.given(Array.from({ length }, (_, i) => k * 10 + i)));
  const actions = generator.some(known, 3 + choose(5), 2);
  const values = new Map<number, number[]>();
  for (const [place, { given }] of places.entries())
    if (given !== null) values.set(place, [...given]);
  for (const action of actions) action.run(values);
  const outputs = known.filter((place) => places[place].given === null);
  for (const place of outputs) places[place].last = after;
  for (const place of places) if (place.given !== null) place.last = after;
  const { at, end } = layOut(places);
  const tableAt = end;
  return {
    steps: actions.map(({ step }) => step),
    table: tableOf(places),
    memory: () => {
      const memory = new ArrayBuffer(tableAt + 4 * places.length);
      const words = new Int32Array(memory);
      places.forEach(({ given }, place) => given !== null && words.set(given, at[place] / 4));
      words.set(at, tableAt / 4);
      return memory;
    },
    tableAt,
    expected: new Map(outputs.map((place) => [at[place], values.get(place)!])),
  };
}

/** Every place has the entry of its number; there are no sizes, and nothing is kept. */
function tableOf(places: readonly Place[]): TableLayout {
  const none = (): never => {
    throw new Error('these steps need places only');
  };
  return {
    addresses: 'i32',
    sizeEntry: none,
    placeEntry: (place) => place,
    scratchEntry: none,
    keptEntries: none,
    variableOf: () => undefined,
    placesOf: (location) => [location],
    lastStepOf: (place) => places[place].last,
  };
}
