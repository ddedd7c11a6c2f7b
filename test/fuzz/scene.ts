import { type DType, isFloat } from '../../src/base/dtype.js';
import { KaonError } from '../../src/base/errors.js';
import type { NDArray } from '../../src/index.js';
import { registry } from '../../src/ops/registry.js';
import { byHand } from './control.js';
import { calls, resultArrays } from './calls.js';
import { isBySizes } from './dynamic.js';
import { needsExact, readsNothing } from './facts.js';
import { type Choices, extentsOf, hasFixedAxis, isFixed, isOpen, type Known, knownValue, openExtent, type Palette } from './pool.js'; // prettier-ignore
import { type Argument, type Input, allSteps, mapRefs, refsOf, type Sizes, type Step } from './program.js'; // prettier-ignore
import { copyOf, inputArray, Runner } from './run.js';
import { taintOf, taintsOfStep } from './taints.js';

/** A call that was refused while the program was made: the program goes wrong if it holds it. */
export interface Refused {
  readonly step: Step;
  readonly error: KaonError;
  /** The values it reads whose sizes data decides. */
  readonly open: readonly number[];
}

/** Sizes and elements that every step is tried with. */
export interface Trial {
  readonly sizes: Sizes;
  readonly variant: number;
}

export interface Setting {
  readonly seed: number;
  readonly choices: Choices;
  readonly palette: Palette;
  readonly trials: readonly Trial[];
}

const largest = 160;
const deepest = 5;

/** The steps and values of a program in the making. Steps are run as they are added, so each of them is valid. */
export class Scene {
  readonly setting: Setting;
  readonly inputs: Input[] = [];
  readonly refused: Refused[] = [];
  /** What each value was in the first of the trials. */
  readonly values: Map<number, NDArray> = new Map();
  /** What some step reads. */
  readonly read: Set<number> = new Set();
  /** Those of the body at hand. */
  steps: Step[] = [];
  /** What a step of the body at hand may read. */
  pool: Known[] = [];
  /** Whether the body at hand must give the same bits in any order. */
  isExact = false;
  /** In how many bodies the step at hand stands. */
  depth = 0;
  /** The values from around the body at hand that it may read. */
  around: ReadonlySet<number> = new Set();
  readonly #known: Map<number, Known> = new Map();
  readonly #placed: number[] = [];
  /** States that have been assigned to. */
  readonly #changed: Set<number> = new Set();
  #nextId = 0;

  constructor(setting: Setting) {
    this.setting = setting;
  }

  id(): number {
    return this.#nextId++;
  }

  place(spec: Omit<Input, 'id'>): Known {
    const { seed, trials } = this.setting;
    const input: Input = { ...spec, id: this.id() };
    this.inputs.push(input);
    this.#placed.push(input.id);
    const arrays = trials.map(({ sizes, variant }) => inputArray(input, sizes, seed, variant));
    const known = knownValue(input.id, arrays, 0);
    this.#learn(known);
    return known;
  }

  /** Makes a value part of the body at hand. */
  #learn(known: Known): void {
    this.#known.set(known.id, known);
    this.values.set(known.id, known.arrays[0]);
    this.pool.push(known);
  }

  /** What is read of a state from here on. */
  become(state: number, value: Known): void {
    const known = { ...value, id: state };
    this.#known.set(state, known);
    this.#changed.add(state);
    this.pool = this.pool.map((one) => (one.id === state ? known : one));
  }

  /** Runs a call in every trial; the program has it when all of them work. */
  call(op: string, args: readonly Argument[]): readonly Known[] | null {
    const operands = refsOf({ op, args, results: [] }).map((id) => this.#known.get(id)!);
    const taints = operands.map(({ taint }) => taint);
    if (needsExact(op) && Math.max(0, ...taints) > 0) return null;
    let all: NDArray[][];
    try {
      all = this.setting.trials.map((_, i) => {
        const given = args.map((argument) => mapRefs(argument, (id) => this.#known.get(id)!.arrays[i])); // prettier-ignore
        return resultArrays(calls.get(op)!(...given));
      });
    } catch (error) {
      if (!(error instanceof KaonError)) throw error;
      const open = operands.filter(({ extents }) => extents.some(isOpen)).map(({ id }) => id);
      if (this.depth === 0) this.refused.push({ step: { op, args, results: [] }, error, open });
      return null;
    }
    const arrays = all.flat();
    const tainted = Math.max(0, ...operands.filter(({ dtype }) => isFloat(dtype)).map(({ taint }) => taint)); // prettier-ignore
    // Bits of what is only nearly equal would be compared exactly.
    if (tainted > 0 && arrays.some(({ dtype }) => !isFloat(dtype)) && !readsNothing(op)) return null; // prettier-ignore
    const taint = taintOf({ op, args, results: [] }, taints, arrays);
    const isDeciding = registry.get(op)?.measure !== undefined || isBySizes(op);
    return this.#commit({ op, args, results: [] }, all, () => taint, isDeciding);
  }

  /**
   * Runs control flow in every trial. `deciding` says how many of its results, the leading ones, have
   * sizes that data decides.
   */
  control(step: Omit<Step, 'results'>, deciding: number): readonly Known[] | null {
    const reads = refsOf({ ...step, results: [] });
    const written = new Set(allSteps([{ ...step, results: [] }]).filter(({ op }) => op === 'assign').map((one) => refsOf(one)[0])); // prettier-ignore
    const before = new Map([...new Set([...reads, ...written])].map((id) => [id, this.#known.get(id)!])); // prettier-ignore
    const taints = new Map([...before].map(([id, { taint }]) => [id, taint]));
    const count = resultCount(step);
    const results = Array.from({ length: count }, () => this.id());
    const runs: Map<number, NDArray>[] = [];
    try {
      for (const i of this.setting.trials.keys()) {
        const values = new Map(
          [...before].map(([id, { arrays }]) => [id, written.has(id) ? copyOf(arrays[i]) : arrays[i]]), // prettier-ignore
        );
        new Runner(values, { control: byHand }).run([{ ...step, results }]);
        runs.push(values);
      }
    } catch (error) {
      if (!(error instanceof KaonError)) throw error;
      return null;
    }
    const whole = { ...step, results };
    taintsOfStep(whole, new Map(runs.flatMap((values) => [...values])), taints);
    const all = runs.map((values) => results.map((id) => values.get(id)!));
    const taintOfResult = (k: number): number => taints.get(results[k]) ?? 0;
    const made = this.#commit(whole, all, taintOfResult, deciding > 0, deciding);
    if (made === null) return null;
    for (const id of written) {
      this.become(id, knownValue(id, runs.map((values) => values.get(id)!), taints.get(id) ?? 0)); // prettier-ignore
    }
    return made;
  }

  #commit(
    given: Step,
    all: readonly (readonly NDArray[])[],
    taintAt: (result: number) => number,
    isDeciding: boolean,
    deciding: number = Infinity,
  ): readonly Known[] | null {
    const arrays = all.flat();
    if (arrays.some(({ size, ndim }) => size > largest || ndim > deepest)) return null;
    if (all.some((results) => results.length !== all[0].length)) return null;
    const isAlike = all.every((results) => results.every(({ dtype, ndim }, k) => dtype === all[0][k].dtype && ndim === all[0][k].ndim)); // prettier-ignore
    if (!isAlike) return null;
    const step = given.results.length > 0 ? given : { ...given, results: all[0].map(() => this.id()) }; // prettier-ignore
    const made = step.results.map(
      (id, k) =>
      knownValue(id, all.map((results) => results[k]), isFloat(all[0][k].dtype) ? taintAt(k) : 0), // prettier-ignore
    );
    if (this.isExact && made.some(({ taint }) => taint > 0)) return null;
    const operands = refsOf(step).map((id) => this.#known.get(id)!);
    // A size that data decides, but the same in all trials, would be taken for a known one.
    const decided = step.regions === undefined ? decidedAxes(step) : () => false;
    const isUnsure = (known: Known, k: number): boolean =>
      isDeciding && k < deciding && (isFixed(known) || hasFixedAxis(known, decided));
    if (step.regions === undefined && made.every(isUnsure) && made.length > 0) return null;
    const inherited = Math.max(0, ...operands.map(({ sized }) => sized));
    const around = operands.flatMap(({ arrays, extents }) => extents.map((extent, axis) => ({ extent, sizes: extentsOf(arrays)[axis] }))); // prettier-ignore
    const family = registry.get(step.op)?.family;
    const isCutting = family === 'movement' || family === 'indexing';
    const isClosed = around.every(({ extent }) => !isOpen(extent));
    /** The size of an axis by the operand it is from; another one where data decides. */
    const extentAt = (sizes: string, { id }: Known, axis: number, decides: boolean): string => {
      if (decides) return openExtent(this.#decider(step, id, axis));
      if (isClosed) return sizes;
      const alike = around.filter((one) => one.sizes === sizes);
      const open = [...new Set(alike.map(({ extent }) => extent).filter(isOpen))];
      // Of several that happen to be equal, nobody knows which it is.
      if (open.length > 1) return openExtent(`${id}.${axis}`);
      if (new Set(sizes.split(',')).size > 1) return open[0] ?? openExtent(`${id}.${axis}`);
      // What is cut off at most so long is not known to be so long.
      return isCutting && alike.length === 0 ? openExtent(`${id}.${axis}`) : sizes;
    };
    this.steps.push(step);
    for (const { id } of operands) this.read.add(id);
    const kept = made.map((known, k): Known => {
      const sized = isFixed(known) ? 0 : isDeciding && k < deciding ? this.depth : inherited;
      const own = isDeciding && k < deciding ? decidedAxes(step) : () => false;
      const extents = known.extents.map((sizes, axis) => extentAt(sizes, known, axis, own(axis)));
      return { ...known, extents, sized: Math.min(sized, this.depth) };
    });
    kept.forEach((known, k) => {
      if (!isUnsure(known, k)) this.#learn(known);
    });
    return kept;
  }

  /** What data decides the size of an axis: one for all that select by one mask. */
  #decider(step: Step, id: number, axis: number): string {
    const by = step.op === 'booleanMask' ? refsOf({ ...step, args: [step.args[1]] }) : [];
    return by.length === 1 && !this.#changed.has(by[0]) ? `mask ${by[0]}` : `${id}.${axis}`;
  }

  /** Adds to the steps of a body by `fill`; what is made there is not seen outside. */
  within<R>(
    params: readonly Known[],
    captured: readonly Known[],
    isExact: boolean,
    fill: () => R,
  ): { readonly steps: readonly Step[]; readonly made: R } {
    const { pool, steps, isExact: wasExact, around } = this;
    const placed = this.#placed.length;
    this.pool = [...captured];
    this.steps = [];
    this.isExact = isExact;
    this.around = new Set(captured.map(({ id }) => id));
    this.depth++;
    for (const known of params) this.#learn(known);
    try {
      const made = fill();
      return { steps: this.steps, made };
    } finally {
      const fresh = this.#placed.slice(placed).map((id) => this.#known.get(id)!);
      this.pool = [...pool, ...fresh];
      this.steps = steps;
      this.isExact = wasExact;
      this.around = around;
      this.depth--;
    }
  }

  /** A new input of the program that the body at hand reads. */
  scalar(dtype: DType, low: number, high: number): Known {
    return this.place({ role: 'argument', dtype, shape: [], low, high });
  }
}

/** The axes of a result whose sizes data decides. */
function decidedAxes({ op, args, regions }: Step): (axis: number) => boolean {
  if (op === 'extents' || isBySizes(op) || regions !== undefined) return () => true;
  const { axis = 0 } = (args[1] ?? {}) as { readonly axis?: number };
  return (one) => one === (op === 'unique' ? (axis ?? 0) : 0);
}

function resultCount({ op, regions = [] }: Omit<Step, 'results'>): number {
  const [{ outputs, states }] = regions;
  return outputs.length + states.length + Number(op === 'whileLoop');
}
