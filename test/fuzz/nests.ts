import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import * as kn from '../../src/index.js';
import { generator } from '../support/samples.js';
import { dealt, settings } from '../support/settings.js';
import { Choices } from './pool.js';
import { pushAsConverted, pushByHand } from './pushes.js';

/*
 * Random nests of loops and branches whose rows have sizes that the data decides, with states, and gradients of first
 * and second order through them. Every iteration selects by the same masks, so that rows can be stacked at any depth:
 * programs of steps at random seldom get there.
 */

type A = kn.NDArray;
type Step = (row: A, state: A) => readonly [row: A, state: A];

/** Loops and branches: those of the library, or plain ones of JavaScript. */
interface Flow {
  foreach(data: A, state: A, step: Step, options: kn.ForeachOptions): readonly [A, A];
  /** As many iterations as `limit` says. */
  repeat(limit: A, state: A, step: (state: A) => readonly [A, A], options: kn.WhileOptions): readonly [A, A]; // prettier-ignore
  cond(holds: A, then: () => A, otherwise: () => A): A;
  push(data: A, state: A, first: A, step: Step, isEach: boolean): readonly [A, A];
  /** A function as the library wraps it: checkpointed, captured, or as it is. */
  wrap(kind: Wrapping, fn: (row: A, state: A) => A): (row: A, state: A) => A;
}

const wrappings = ['checkpoint', 'hybridize', 'nothing', 'nothing'] as const;
type Wrapping = (typeof wrappings)[number];

const library: Flow = {
  foreach: (data, state, step, options) => kn.foreach(step, data, state, options),
  repeat: (limit, state, step, options) => {
    const [rows, [, last]] = kn.whileLoop(
      (i: A) => i.less(limit),
      (i: A, s: A) => {
        const [row, next] = step(s);
        return [row, [i.add(1), next]] as [A, [A, A]];
      },
      [kn.array(0, { dtype: 'int32' }), state] as [A, A],
      options,
    );
    return [rows, last];
  },
  cond: (holds, then, otherwise) => kn.cond(holds, then, otherwise),
  push: (data, state, first, step, isEach) => {
    const [rows, , last] = pushAsConverted({ data, states: [state], first, isEach, iterate: iterating(step) }); // prettier-ignore
    return [rows, last];
  },
  wrap: (kind, fn) => {
    if (kind === 'nothing') return fn;
    return kind === 'checkpoint' ? kn.checkpoint(fn) : kn.hybridize(fn);
  },
};

const plain: Flow = {
  foreach: (data, state, step, { reverse = false }) => {
    const rows: A[] = [];
    for (let k = 0; k < data.shape[0]; k++) {
      const [row, next] = step(data.slice(reverse ? data.shape[0] - 1 - k : k), state);
      rows.push(row);
      state = next;
    }
    return [kn.stack(reverse ? rows.reverse() : rows), state];
  },
  repeat: (limit, state, step, { maxIterations, padded = false }) => {
    const rows: A[] = [];
    const most = maxIterations ?? Infinity;
    while (rows.length < Math.min(Number(limit.item()), most)) {
      const [row, next] = step(state);
      rows.push(row);
      state = next;
    }
    const all = kn.stack(rows);
    if (!padded) return [all, state];
    const missing = kn.zeros([most - rows.length, ...all.shape.slice(1)], { dtype: all.dtype }); // prettier-ignore
    return [kn.concat([all, missing]), state];
  },
  cond: (holds, then, otherwise) => (holds.item() === true ? then() : otherwise()),
  push: (data, state, first, step, isEach) => {
    const [rows, , last] = pushByHand({ data, states: [state], first, isEach, iterate: iterating(step) }); // prettier-ignore
    return [rows, last];
  },
  wrap: (_, fn) => fn,
};

function iterating(step: Step): Parameters<typeof pushByHand>[0]['iterate'] {
  return (row, [state]) => {
    const [value, next] = step(row, state);
    // Some rows are left out, by what is known of them before they are selected from.
    return { outputs: [value, row.sum().greater(-0.5)], states: [next] };
  };
}

/** What a nest reads: rows, two masks of a row, a number of iterations. */
interface Given {
  readonly x: A;
  readonly first: A;
  readonly second: A;
  readonly limit: A;
}

/** A value made of a row and a state. */
type Node = (flow: Flow, given: Given, row: A, state: A) => A;

const byMask: Node = (_, { first }, row) => kn.booleanMask(row, first);
const byPositions: Node = (_, { first }, row) => row.take(kn.nonzero(first).flatten(), { axis: 0 });

/** Draws nests. Each choice is made once, so that a nest computes the same each time. */
class Nests {
  readonly #choices: Choices;
  readonly #hasInt64: boolean;

  /** @param hasInt64 False where calls of int64 are refused. */
  constructor(seed: number, hasInt64: boolean) {
    this.#choices = new Choices(generator(seed));
    this.#hasInt64 = hasInt64;
  }

  node(depth: number): Node {
    if (depth === 0) return this.#curved(this.#selection());
    const kind = this.#choices.below(9);
    if (kind < 3) return this.#foreach(depth);
    if (kind < 6) return this.#repeat(depth);
    if (kind < 7) return this.#cond(depth);
    if (kind < 8) return this.#push(depth);
    const [inner, wrapping] = [this.node(depth - 1), this.#choices.pick(wrappings)];
    return (flow, given, row, state) =>
      flow.wrap(wrapping, (r, s) => inner(flow, given, r, s))(row, state);
  }

  /** Elements of a row; as many for each row, or their sum, however many there are. */
  #selection(): Node {
    return this.#choices.pick<Node>([
      byMask,
      (_, { first, second }, row) => kn.booleanMask(kn.booleanMask(row, first), kn.booleanMask(second, first)), // prettier-ignore
      this.#hasInt64 ? byPositions : byMask,
      (_, { first, second }, row) => kn.concat([kn.booleanMask(row, first).mul(kn.booleanMask(row.square(), first)), kn.booleanMask(row, second)]), // prettier-ignore
      (_flow, _given, row) => kn.booleanMask(row, row.greater(0)).exp().sum(),
      (_flow, _given, row) => row,
    ]);
  }

  /** Something that is not linear of a value and the state. */
  #curved(node: Node): Node {
    const curve = this.#choices.pick<(value: A, state: A) => A>([
      (value, state) => value.mul(state).exp(),
      (value, state) => value.add(state).tanh(),
      (value, state) => value.mul(state),
      (value) => value.sigmoid(),
    ]);
    return (flow, given, row, state) => curve(node(flow, given, row, state), state);
  }

  /** The next state, of the row or of what the iteration has made. */
  #next(): (row: A, state: A, made: A) => A {
    return this.#choices.pick([
      (row, state) => state.add(row.sum()).tanh(),
      (_, state, made) => state.mul(0.5).add(made.sum().tanh()),
      (row, state) => state.mul(row.mean()),
      (_, state) => state.add(0.125),
      (_, state) => state,
    ]);
  }

  /** What is taken of a loop: its rows, or a state with a part of them. */
  #taken(): (rows: A, last: A) => A {
    return this.#choices.pick([(rows) => rows, (rows) => rows, (rows, last) => rows.mul(last), (rows, last) => rows.sum().tanh().add(last)]); // prettier-ignore
  }

  #foreach(depth: number): Node {
    const [inner, next, taken] = [this.node(depth - 1), this.#next(), this.#taken()];
    const reverse = this.#choices.chance(0.3);
    const isRow = this.#choices.chance(0.5);
    return (flow, given, row, state) => {
      const data = isRow ? given.x.mul(row.mean()) : given.x;
      const step: Step = (r, s) => {
        const made = inner(flow, given, r, s);
        return [made, next(r, s, made)];
      };
      return taken(...flow.foreach(data, state, step, { reverse }));
    };
  }

  #repeat(depth: number): Node {
    const [inner, next, taken] = [this.node(depth - 1), this.#next(), this.#taken()];
    const options = this.#choices.pick<kn.WhileOptions>([{}, {}, { maxIterations: 4 }, { maxIterations: 4, padded: true }]); // prettier-ignore
    return (flow, given, row, state) => {
      const step = (s: A): readonly [A, A] => {
        const made = inner(flow, given, row, s);
        return [made, next(row, s, made)];
      };
      return taken(...flow.repeat(given.limit, state, step, options));
    };
  }

  #cond(depth: number): Node {
    const inner = this.node(depth - 1);
    const other = this.#curved(inner);
    return (flow, given, row, state) =>
      flow.cond(row.sum().greater(0), () => inner(flow, given, row, state), () => other(flow, given, row, state)); // prettier-ignore
  }

  /** Pushes the rows of a value, or the value; the list begins with one of zeros. */
  #push(depth: number): Node {
    const [inner, next] = [this.#curved(this.#selection()), this.#next()];
    const [outer, isEach] = [this.node(depth - 1), this.#choices.chance(0.5)];
    return (flow, given, row, state) => {
      const step: Step = (r, s) => {
        const made = inner(flow, given, r, s);
        const value = isEach ? made.reshape([-1]) : made.sum();
        return [value, next(r, s, made)];
      };
      const zero = state.mul(0);
      const [rows, last] = flow.push(given.x, state, zero, step, isEach);
      return outer(flow, given, row, last.add(rows.sum().tanh()));
    };
  }
}

interface Nest {
  readonly depth: number;
  run(flow: Flow, given: Given, state: A): A;
}

function nestOf(seed: number, hasInt64: boolean): Nest {
  const depth = 1 + (seed % 3);
  const node = new Nests(seed, hasInt64).node(depth);
  return { depth, run: (flow, given, state) => node(flow, given, given.x.slice(0), state) };
}

function givenOf(seed: number, dtype: 'float32' | 'float64'): Given & { readonly state: A } {
  const random = generator(seed * 31);
  const numbers = (count: number): number[] => Array.from({ length: count }, () => random() * 1.4 - 0.7); // prettier-ignore
  const mask = (): A => kn.array(numbers(4).map((each) => each > -0.2));
  return {
    x: kn.array(numbers(12), { dtype }).reshape([3, 4]),
    first: mask(),
    second: mask(),
    limit: kn.array(1 + Math.floor(random() * 3), { dtype: 'int32' }),
    state: kn.array(random(), { dtype }),
  };
}

/** The loss, then gradients of first or second order by rows and state. */
function slopes(nest: Nest, flow: Flow, order: 1 | 2): (given: readonly A[]) => readonly A[] {
  return ([x, state, first, second, limit]) => {
    const loss = (y: A, s: A): A => nest.run(flow, { x: y, first, second, limit }, s).square().sum(); // prettier-ignore
    const slope = (y: A, s: A): readonly A[] => kn.grad(loss, [0, 1])(y, s);
    if (order === 1) return [loss(x, state), ...slope(x, state)];
    return kn.grad((y: A, s: A) => slope(y, s).map((g) => g.square().sum()).reduce((a, b) => a.add(b)), [0, 1])(x, state); // prettier-ignore
  };
}

interface NestOptions {
  /** The device that captured code runs on, which answers at once. Default: this one. */
  readonly device?: string;
  /** Why there is none. Default false. */
  readonly skip?: string | false;
}

/** Tests that so many random nests have the gradients of plain loops however they are captured. */
export function fuzzNests(count: number, { device, skip = false }: NestOptions = {}): void {
  const start = settings.seed ?? 1;
  for (const seed of dealt(Array.from({ length: count }, (_, i) => start + i))) {
    test(
      `the nest of the seed ${seed} has the gradients of plain loops${device === undefined ? '' : ` on ${device}`}`,
      { skip },
      async () => {
        // Memory is given back, and reports are written, when code has returned to the event loop.
        await setImmediate();
        // GPUs have no float64.
        const dtype = device === undefined ? 'float64' : 'float32';
        const nest = nestOf(seed, device === undefined);
        const order = seed % 4 === 0 ? 2 : 1;
        const { x, state, first, second, limit } = givenOf(seed, dtype);
        const given = [x, state, first, second, limit];
        const expected = slopes(nest, plain, order)(given);
        const moved = device === undefined ? given : given.map((array) => array.to(device));
        const save = (['auto', 'all', 'none'] as const)[Math.floor(seed / 3) % 3];
        const captured = kn.hybridize(slopes(nest, library, order), { save });
        const inner = kn.hybridize((y: A, s: A, a: A, b: A, c: A) => nest.run(library, { x: y, first: a, second: b, limit: c }, s), { save }); // prettier-ignore
        const recorded: Nest = { ...nest, run: (_, g, s) => inner(g.x, s, g.first, g.second, g.limit) }; // prettier-ignore
        assertAlike(captured(moved), expected, dtype, `captured, order ${order}`);
        // A graph that has been given sizes before.
        assertAlike(captured(moved), expected, dtype, `captured again, order ${order}`);
        // Running counts of rows are int64, which devices lack outside of captured code.
        if (device !== undefined && order === 2) return;
        assertAlike(slopes(recorded, library, order)(moved), expected, dtype, `recorded, order ${order}`); // prettier-ignore
      },
    );
  }
}

/** Roundings may add up to this part of the largest slope. */
const tolerances = { float64: 1e-10, float32: 3e-4 } as const;

function assertAlike(
  found: readonly A[],
  expected: readonly A[],
  dtype: 'float32' | 'float64',
  where: string,
): void {
  const [a, b] = [found, expected].map((arrays) => arrays.flatMap((array) => [...array.dataSync()].map(Number))); // prettier-ignore
  const scale = Math.max(1, ...b.map(Math.abs).filter(Number.isFinite));
  assert.equal(a.length, b.length, where);
  a.forEach((value, i) => {
    const isNear = Object.is(value, b[i]) || Math.abs(value - b[i]) <= tolerances[dtype] * scale;
    assert.ok(isNear, `${where}: element ${i} is ${value}, not ${b[i]}`);
  });
}
