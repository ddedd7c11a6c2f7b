import { isFloat } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import * as kn from '../../src/index.js';
import { roundingOf } from './facts.js';
import { isOpen, type Known, knownValue, sameShapes } from './pool.js';
import type { Nesting, Ref, Region, Step } from './program.js';
import type { Scene } from './scene.js';
import { withSelections } from './selections.js';
import { nextState, type Parameter } from './states.js';

/** How many bodies a step can stand in. */
export const deepestBody = 3;

const longest = 8;

/** A region in the making, and what it gives. */
interface Made {
  readonly steps: readonly Step[];
  readonly outputs: readonly Known[];
  readonly states: readonly Known[];
}

/** Adds loops and branches whose bodies are random programs themselves. */
export class Flows {
  readonly #scene: Scene;
  readonly #step: () => void;

  /** @param step Tries to add a step to the body at hand. */
  constructor(scene: Scene, step: () => void) {
    this.#scene = scene;
    this.#step = step;
  }

  add(): void {
    const { choices } = this.#scene.setting;
    const kind = choices.below(11);
    if (kind < 4) this.#foreach();
    else if (kind < 7) this.#while();
    else if (kind < 10) this.#cond();
    else this.#push();
  }

  #foreach(): void {
    const { choices } = this.#scene.setting;
    const isExact = this.#chooseExact();
    const usable = this.#usable(isExact);
    const rows = usable.filter(({ arrays }) => arrays.every(({ ndim, shape }) => ndim > 0 && shape[0] <= longest)); // prettier-ignore
    if (rows.length === 0) return;
    const first = choices.late(rows);
    const others = rows.filter(({ extents }) => extents[0] === first.extents[0]);
    const data = [first];
    while (data.length < 3 && choices.chance(0.35)) data.push(choices.pick(others));
    const slices = data.map((known) => this.#parameter(known, known.arrays.map(sliceOf), known.taint)); // prettier-ignore
    const states = this.#chooseStates(usable, isExact);
    const body = this.#fill([...slices, ...states], isExact, () => this.#loopEnd(states, slices));
    if (body.outputs.length + body.states.length === 0) return;
    this.#scene.control(
      {
        op: 'foreach',
        args: [
          refs(data),
          refs(states.map(({ outside }) => outside)),
          { ...this.#saving(), ...(choices.chance(0.25) && { reverse: true }) },
        ],
        regions: [{ ...regionOf(body, [...slices, ...states]), decides: this.#decided(body) > 0 }],
        nesting: this.#nesting(),
      },
      this.#decided(body),
    );
  }

  /** The loop pushes rows to a list that has one already, whenever a truth value of the iteration says so. */
  #push(): void {
    const { choices } = this.#scene.setting;
    const isExact = this.#chooseExact();
    const usable = this.#usable(isExact);
    const data = usable.filter(({ arrays }) => arrays.every(({ ndim, shape }) => ndim > 0 && shape[0] > 0 && shape[0] <= longest)); // prettier-ignore
    if (data.length === 0) return;
    const rows = choices.late(data);
    const slice = this.#parameter(rows, rows.arrays.map(sliceOf), rows.taint);
    const states = this.#chooseStates(usable, isExact);
    let first: Known | null = null;
    const isEach = choices.chance(0.6);
    const body = this.#fill([slice, ...states], isExact, () => {
      const flag = this.#truth();
      const pushed = flag === null ? null : this.#pushed(usable, isEach);
      if (flag === null || pushed === null) return { outputs: [], states: [] };
      first = pushed.first;
      return { outputs: [pushed.value, flag], states: states.map((state) => nextState(this.#scene, state, states)) }; // prettier-ignore
    });
    if (first === null) return;
    this.#scene.control(
      {
        op: 'push',
        args: [refs([rows]), refs(states.map(({ outside }) => outside)), refs([first]), { isEach }],
        regions: [regionOf(body, [slice, ...states])],
      },
      1,
    );
  }

  /** A value to push, and one from around the loop that is like it, or like its rows. */
  #pushed(
    usable: readonly Known[],
    isEach: boolean,
  ): { readonly value: Known; readonly first: Known } | null {
    const { choices } = this.#scene.setting;
    const dropped = Number(isEach);
    const values = this.#scene.pool.filter(({ isTame, arrays }) => isTame && arrays.every(({ size, ndim }) => size <= 20 && ndim >= dropped && ndim < 4)); // prettier-ignore
    const pairs = values.flatMap((value) => {
      const row = value.extents.slice(dropped).join(';');
      const firsts = usable.filter(({ dtype, extents }) => dtype === value.dtype && !extents.some(isOpen) && extents.join(';') === row); // prettier-ignore
      return firsts.length === 0 ? [] : [{ value, first: choices.late(firsts) }];
    });
    if (pairs.length === 0) return null;
    // Rather rows whose number only the iteration knows.
    const open = pairs.filter(({ value }) => isEach && isOpen(value.extents[0]));
    return choices.late(open.length > 0 && choices.chance(0.7) ? open : pairs);
  }

  /** How many results have sizes that the data of iterations decides. */
  #decided({ outputs }: Made): number {
    return outputs.some(({ sized }) => sized > this.#scene.depth) ? outputs.length : 0;
  }

  /** The loop ends since something grows up to a threshold, since there is a limit, or both. */
  #while(): void {
    const { choices, palette } = this.#scene.setting;
    const isExact = this.#chooseExact();
    const usable = this.#usable(isExact);
    const isCounted = !isExact || choices.chance(0.5);
    const dtype = isCounted ? palette.int : choices.pick([palette.float, 'float32'] as const);
    const start = this.#scene.scalar(dtype, 0, 2);
    const goal = this.#scene.scalar(dtype, choices.pick([0, 2]), choices.pick([2, 5]));
    const growing = this.#parameter(start, start.arrays, 0);
    const states = [growing, ...this.#chooseStates(usable, isExact)];
    const isLimited = choices.chance(0.5);
    const padded = isLimited && choices.chance(0.5);
    const maxIterations = choices.pick([0, 1, 2, 3, 5]);
    const captured = this.#captured();
    const grow = (): Known => {
      const step = isCounted ? 1 : choices.pick([0.75, 1.5]);
      return this.#scene.call('add', [{ ref: growing.inside.id }, step])![0];
    };
    const body = this.#fill(states, isExact, () => this.#loopEnd(states, [], grow()), captured);
    const params = states.map(({ outside, inside }) => this.#parameter(outside, inside.arrays, inside.taint)); // prettier-ignore
    const condition = this.#scene.within(
      params.map(({ inside }) => inside),
      captured,
      true,
      () => this.#condition(params[0].inside, goal),
    );
    this.#scene.control(
      {
        op: 'whileLoop',
        args: [
          refs(states.map(({ outside }) => outside)),
          { ...this.#saving(), ...(isLimited && { maxIterations }), ...(padded && { padded }) },
        ],
        regions: [
          { ...regionOf(body, states), decides: this.#decided(body) > 0 },
          regionOf({ steps: condition.steps, outputs: [condition.made], states: [] }, params),
        ],
        nesting: this.#nesting(),
      },
      padded ? this.#decided(body) : body.outputs.length,
    );
  }

  /** Whether to go on: as long as the growing value is below its goal, and sometimes less long. */
  #condition(growing: Known, goal: Known): Known {
    const { choices } = this.#scene.setting;
    let holds = this.#scene.call('less', [{ ref: growing.id }, { ref: goal.id }])![0];
    if (choices.chance(0.3)) {
      const other = this.#truth();
      if (other !== null) holds = this.#scene.call(choices.pick(['logicalAnd', 'logicalAnd']), [{ ref: holds.id }, { ref: other.id }])?.[0] ?? holds; // prettier-ignore
    }
    if (choices.chance(0.2)) {
      holds = this.#scene.call('reshape', [{ ref: holds.id }, choices.pick([[1], [1, 1]])])![0];
    }
    return holds;
  }

  #cond(): void {
    const { choices } = this.#scene.setting;
    const isFunction = choices.chance(0.3);
    let predicate: Known | null = null;
    let asked: Made | null = null;
    if (isFunction) {
      const { steps, made } = this.#scene.within([], this.#captured(), true, () => this.#truth());
      if (made === null) return;
      asked = { steps, outputs: [made], states: [] };
    } else {
      predicate = this.#truth();
      if (predicate === null) return;
    }
    const first = this.#branch([]);
    const second = this.#branch(first.outputs);
    const count = second.outputs.length;
    const chosen = first.outputs.slice(0, count);
    // Those whose sizes differ come first: they are as many as the predicate says.
    const order = [...chosen.keys()].sort((a, b) => Number(sameShapes(chosen[a], second.outputs[a])) - Number(sameShapes(chosen[b], second.outputs[b]))); // prettier-ignore
    const deciding = order.filter((k) => !sameShapes(chosen[k], second.outputs[k])).length;
    if (order.length === 0) return;
    const branches = [first, second].map((made) => regionOf({ ...made, outputs: order.map((k) => made.outputs[k]) }, [])); // prettier-ignore
    this.#scene.control(
      {
        op: 'cond',
        args: [predicate === null ? null : { ref: predicate.id }],
        regions: asked === null ? branches : [...branches, regionOf(asked, [])],
        nesting: this.#nesting(),
      },
      deciding,
    );
  }

  /** A branch that gives some values, or values like those of the other one. */
  #branch(like: readonly Known[]): Made {
    const { choices } = this.#scene.setting;
    const captured = this.#captured();
    const isFirst = like.length === 0;
    return this.#fill([], this.#scene.isExact, () => {
      const { pool, depth } = this.#scene;
      const fit = pool.filter(({ sized, isTame }) => sized < depth && isTame);
      if (isFirst) {
        const count = 1 + choices.below(3);
        return { outputs: fit.length === 0 ? [] : Array.from({ length: count }, () => choices.late(fit)), states: [] }; // prettier-ignore
      }
      const outputs: Known[] = [];
      for (const other of like) {
        const alike = fit.filter(({ dtype, arrays }) => dtype === other.dtype && arrays[0].ndim === other.arrays[0].ndim); // prettier-ignore
        const same = alike.filter((known) => sameShapes(known, other));
        const list = same.length > 0 && choices.chance(0.85) ? same : alike;
        const found = list.length > 0 ? choices.late(list) : null;
        if (found === null) break;
        outputs.push(found);
      }
      return { outputs, states: [] };
    }, captured); // prettier-ignore
  }

  /** A truth value that is exact, from the data at hand. */
  #truth(): Known | null {
    const { choices } = this.#scene.setting;
    const exact = this.#scene.pool.filter(({ taint, isTame, sized }) => taint === 0 && isTame && sized <= this.#scene.depth); // prettier-ignore
    const numbers = exact.filter(({ arrays }) => arrays.every(({ size }) => size > 0));
    const truths = exact.filter(({ dtype }) => dtype === 'bool');
    let found: Known | null | undefined;
    if (truths.length > 0 && choices.chance(0.5)) found = choices.late(truths);
    else if (numbers.length > 0) {
      const { id } = choices.late(numbers);
      const op = choices.pick(['greater', 'less', 'notEqual']);
      found = this.#scene.call(op, [{ ref: id }, choices.pick([0, 0.5, 1])])?.[0];
    }
    if (!found) return null;
    if (found.arrays.every(({ size }) => size === 1) && choices.chance(0.7)) return found;
    return this.#scene.call(choices.pick(['any', 'all']), [{ ref: found.id }])?.[0] ?? null;
  }

  /** What an iteration gives: some of its values, and new states like the old ones. */
  #loopEnd(
    states: readonly Parameter[],
    slices: readonly Parameter[],
    grown?: Known,
  ): Omit<Made, 'steps'> {
    const { choices } = this.#scene.setting;
    const next = states.map((state, k) => k === 0 && grown !== undefined ? grown : nextState(this.#scene, state, states)); // prettier-ignore
    const { pool, depth } = this.#scene;
    // Rows whose sizes the body decides are stacked if all iterations agree, which some do.
    const mayDecide = choices.chance(0.9);
    const fit = pool.filter(({ sized, arrays }) => (sized < depth || mayDecide) && arrays.every(({ size, ndim }) => size <= 20 && ndim < 4)); // prettier-ignore
    const outputs: Known[] = [];
    const count = choices.pick([0, 1, 1, 2, 2, 3]);
    const decided = fit.filter(({ sized }) => sized === depth);
    if (decided.length > 0) outputs.push(choices.late(decided));
    for (let k = 0; k < count && fit.length > 0; k++) {
      const kind = choices.below(10);
      if (kind === 0 && outputs.length > 0) outputs.push(outputs[0]);
      else if (kind === 1 && slices.length > 0) outputs.push(choices.pick(slices).inside);
      else if (kind === 2 && states.length > 0) outputs.push(choices.pick(states).inside);
      else if (kind === 3 && next.length > 0) outputs.push(choices.pick(next));
      else outputs.push(choices.late(fit));
    }
    return { outputs: outputs.filter((known) => fit.includes(known)), states: next };
  }

  #chooseStates(usable: readonly Known[], isExact: boolean): Parameter[] {
    const { choices } = this.#scene.setting;
    const small = usable.filter(({ arrays }) => arrays.every(({ size }) => size <= 40));
    if (small.length === 0) return [];
    const count = choices.pick([0, 1, 1, 1, 2, 2, 3]);
    return Array.from({ length: count }, () => {
      const known = choices.late(small);
      const taint = isExact || !isFloat(known.dtype) ? 0 : roundingOf(known.dtype);
      return this.#parameter(known, known.arrays, taint);
    });
  }

  #parameter(outside: Known, arrays: readonly NDArray[], taint: number): Parameter {
    const dropped = outside.extents.length - arrays[0].ndim;
    const inside = knownValue(this.#scene.id(), arrays, taint, outside.extents.slice(dropped));
    return { outside, inside: { ...inside, sized: outside.sized } };
  }

  /** A body of a few steps, the fewer the deeper it stands. */
  #fill(
    params: readonly Parameter[],
    isExact: boolean,
    end: () => Omit<Made, 'steps'>,
    captured: readonly Known[] = this.#captured(),
  ): Made {
    const { choices } = this.#scene.setting;
    const inside = params.map((param) => param.inside);
    const { steps, made } = this.#scene.within(inside, captured, isExact, () => {
      const wanted = [0, 1 + choices.below(9), 1 + choices.below(5), choices.below(4)][this.#scene.depth]; // prettier-ignore
      for (let tries = 0; this.#scene.steps.length < wanted && tries < 10 * wanted; tries++) this.#step(); // prettier-ignore
      if (choices.chance(0.3)) withSelections(this.#scene);
      return end();
    });
    return { ...made, steps };
  }

  /** Some of the values around. */
  #captured(): readonly Known[] {
    const { choices } = this.#scene.setting;
    const { pool } = this.#scene;
    if (pool.length === 0) return [];
    return [...new Set(Array.from({ length: 8 }, () => choices.late(pool)))];
  }

  #chooseExact(): boolean {
    return this.#scene.isExact || this.#scene.setting.choices.chance(0.5);
  }

  #usable(isExact: boolean): readonly Known[] {
    return this.#scene.pool.filter(({ taint, isTame }) => isTame && (!isExact || taint === 0));
  }

  #saving(): { readonly save?: string } {
    const { choices } = this.#scene.setting;
    return choices.chance(0.5) ? {} : { save: choices.pick(['all', 'none', 'auto']) };
  }

  #nesting(): Nesting {
    return this.#scene.setting.choices.pick(['bare', 'list', 'record', 'deep']);
  }
}

function refs(values: readonly Known[]): Ref[] {
  return values.map(({ id }) => ({ ref: id }));
}

function regionOf({ steps, outputs, states }: Made, params: readonly Parameter[]): Region {
  const ids = (values: readonly Known[]): number[] => values.map(({ id }) => id);
  return { params: ids(params.map(({ inside }) => inside)), steps, outputs: ids(outputs), states: ids(states) }; // prettier-ignore
}

/** The first row; of an array without rows one of zeros. */
function sliceOf(x: NDArray): NDArray {
  return x.shape[0] > 0 ? x.slice(0) : kn.zeros(x.shape.slice(1), { dtype: x.dtype });
}
