import { type Dim, type DimBindings, type DimExpr, evaluateDim, symbol, symbolsOf } from '../../base/dim/index.js'; // prettier-ignore
import { bytesOf } from '../../base/dtype.js';
import * as e from '../../loop/language/build.js';
import { sizeExpression } from '../../loop/language/extents.js';
import type { Expr, Kernel, Stmt, Var } from '../../loop/language/nodes.js';
import type { LoweredKernel } from '../../passes/lower/nests/builder.js';
import type { StepPlan } from '../../passes/lower/main/stepwise.js';
import { type BindStep, type MainStep, stepDims } from '../../passes/lower/main/steps.js';
import type { DeviceBuffer } from '../memory/backend.js';
import { leastWords } from './conditions.js';
import type { BufferSlot } from './memory.js';
import type { DeviceQueue } from './queue.js';

/*
 * Sizes that the data decides and that stay on the device. A run has a buffer of sizes: a slot for each size that is
 * kept, and one for each dimension that kernels are passed and that speaks of such sizes. Where a size is made, a kernel
 * of one invocation computes the slots that depend on it. A kernel that is passed such a dimension reads its slot
 * instead, by code in front of what it does anyway: arrays have room for the most that there may be, ranges are launched
 * for the most, and the loops in them end where the size says.
 */

/** Bound of a size that has none of its own, and is only used in dimensions that have. */
const mostElements = 2 ** 31 - 1;

/** Sizes of a plan that stay on the device. */
export class DeviceSizes {
  readonly #plan: StepPlan;
  readonly #queue: DeviceQueue;
  readonly #kept: ReadonlyMap<string, BindStep>;
  /** Slots by the keys of dimensions, each size itself first. */
  readonly #slots: Map<string, number> = new Map();
  /** Dimensions to compute where sizes are made; those of the step's own sizes aside. */
  readonly #computed: Map<BindStep, DimExpr[]> = new Map();
  readonly #makers: Map<BindStep, { readonly kernel: Kernel; readonly given: readonly Dim[] }> = new Map(); // prettier-ignore
  readonly #sized: Map<Kernel, Kernel> = new Map();
  readonly #bounds: Map<string, Dim> = new Map();

  constructor(plan: StepPlan, queue: DeviceQueue) {
    this.#plan = plan;
    this.#queue = queue;
    this.#kept = keptSizes(plan);
    if (this.#kept.size === 0) return;
    const order = new Map<BindStep, number>();
    for (const [name, step] of this.#kept) {
      if (!order.has(step)) order.set(step, order.size);
      this.#slots.set(name, this.#slots.size);
      this.#computed.set(step, []);
    }
    for (const dim of stepDims(plan.steps)) {
      if (!this.isKept(dim) || this.#slots.has(dim.key)) continue;
      const makers = [...symbolsOf(dim)].flatMap((name) => this.#kept.get(name) ?? []);
      const last = makers.reduce((a, b) => (order.get(a)! < order.get(b)! ? b : a));
      this.#slots.set(dim.key, this.#slots.size);
      this.#computed.get(last)!.push(dim);
    }
  }

  /** True where a dimension speaks of sizes that only the device knows. */
  readonly isKept = (dim: Dim): dim is DimExpr => {
    if (this.#kept.size === 0 || typeof dim === 'number') return false;
    return [...symbolsOf(dim)].some((name) => this.#kept.has(name));
  };

  /** True for a step whose sizes stay on the device. */
  readonly keeps = (step: BindStep): boolean => this.#computed.has(step);

  /** The bounds of all sizes that only the device knows, by their names. */
  bounds(names: DimBindings): ReadonlyMap<string, number> {
    const bounds = new Map<string, number>();
    for (const [name, { sizes }] of this.#kept) {
      const size = symbol(name, sizes.find((each) => each.name === name)!.bounds);
      const most = this.#plan.memory.roomFor(size);
      bounds.set(name, most === null ? mostElements : evaluateDim(most, names));
    }
    return bounds;
  }

  /** Memory for the sizes of a run; null where there are none. */
  allocate(): DeviceBuffer | null {
    if (this.#slots.size === 0) return null;
    return this.#queue.backend.allocate('int32', Math.max(this.#slots.size, leastWords));
  }

  /** Upper bound of a dimension, in sizes that the host knows. */
  boundOf(dim: Dim): Dim {
    if (!this.isKept(dim)) return dim;
    let bound = this.#bounds.get(dim.key);
    // What is not bounded is not kept.
    if (bound === undefined) this.#bounds.set(dim.key, (bound = this.#plan.memory.roomFor(dim)!));
    return bound;
  }

  /** The place of a dimension that only the device knows. */
  slotOf(dim: DimExpr, buffer: DeviceBuffer): BufferSlot {
    return { buffer, offset: bytesOf('int32') * this.#slots.get(dim.key)! };
  }

  /** Has the device make the sizes of a step, and all that is computed from them. */
  make(step: BindStep, from: BufferSlot, buffer: DeviceBuffer, names: DimBindings): void {
    let maker = this.#makers.get(step);
    if (maker === undefined) this.#makers.set(step, (maker = this.#maker(step)));
    const numbers = maker.given.map((dim) => evaluateDim(dim, names));
    this.#queue.launch(maker.kernel)([{ buffer, offset: 0 }, from, ...numbers]);
  }

  /**
   * A kernel that reads the sizes which only the device knows from a buffer, its last argument, and is passed bounds in
   * their places; the kernel itself where it is passed none.
   */
  sized({ kernel, args }: LoweredKernel): Kernel {
    if (this.#kept.size === 0) return kernel;
    let sized = this.#sized.get(kernel);
    if (sized === undefined) this.#sized.set(kernel, (sized = this.#reading(kernel, args)));
    return sized;
  }

  #reading(kernel: Kernel, args: LoweredKernel['args']): Kernel {
    const sizes = e.buffer('sizes', 'i32');
    const reads: Stmt[] = [];
    const params = kernel.params.map((param, k) => {
      const arg = args[k];
      if (arg.kind !== 'size' || param.kind !== 'var' || !this.isKept(arg.dim)) return param;
      const most = e.variable(`most_${param.name}`, 'i32');
      const slot = e.load(sizes, this.#slots.get(arg.dim.key)!);
      // Which tells those who launch it how much there may be to do.
      reads.push(e.declare(param, e.max(e.min(slot, most), 0)));
      return most;
    });
    if (reads.length === 0) return kernel;
    return e.kernel(`${kernel.name}_sized`, [...params, sizes], e.block(...reads, kernel.body));
  }

  /** The kernel that makes the sizes of a step, and what it is passed behind the buffers. */
  #maker(step: BindStep): { readonly kernel: Kernel; readonly given: readonly Dim[] } {
    const sizes = e.buffer('sizes', 'i32');
    const from = e.buffer('from', step.isWide ? 'i64' : 'i32');
    const given = new Map<string, { readonly dim: Dim; readonly param: Var }>();
    const parameter = (dim: Dim): Expr => {
      if (typeof dim === 'number') return e.i32(dim);
      let known = given.get(dim.key);
      if (known === undefined) {
        known = { dim, param: e.variable(`given_${given.size}`, 'i32') };
        given.set(dim.key, known);
      }
      return known.param;
    };
    const own = new Map<string, Var>();
    const body: Stmt[] = [];
    for (const [k, { name, bounds, most }] of step.sizes.entries()) {
      const local = e.variable(`size_${k}`, 'i32');
      const element = e.cast('i32', e.load(from, k));
      const room = parameter(most ?? Math.min(bounds.max, mostElements));
      // Sizes outside of what there is room for cannot come out of operators that bound their own.
      body.push(e.declare(local, e.max(e.min(element, room), bounds.min)));
      body.push(e.store(sizes, this.#slots.get(name)!, local));
      own.set(name, local);
    }
    for (const dim of this.#computed.get(step)!) {
      const value = sizeExpression(dim, (name, bounds) => {
        const local = own.get(name);
        if (local !== undefined) return local;
        if (this.#kept.has(name)) return e.load(sizes, this.#slots.get(name)!);
        return parameter(symbol(name, bounds));
      });
      body.push(e.store(sizes, this.#slots.get(dim.key)!, value));
    }
    const params = [...given.values()].map(({ param }) => param);
    const kernel = e.kernel('make_sizes', [sizes, from, ...params], e.block(...body));
    return { kernel, given: [...given.values()].map(({ dim }) => dim) };
  }
}

/**
 * The sizes of a plan that can stay on the device: they are only passed to kernels or are the number of iterations of a
 * loop over rows, in dimensions that are bounded, such as `min(n, 3)`. The host has to know where rows begin, and what
 * limits other loops.
 */
function keptSizes({ steps, memory }: StepPlan): ReadonlyMap<string, BindStep> {
  const made = new Map<string, BindStep>();
  const known = new Set<string>();
  const visit = (all: readonly MainStep[]): void => {
    const needs = (dim: Dim): void => {
      for (const name of symbolsOf(dim)) known.add(name);
    };
    const needsBound = (dim: Dim): void => {
      if (memory.roomFor(dim) === null) needs(dim);
    };
    for (const step of all) {
      switch (step.kind) {
        case 'kernel':
          for (const arg of step.kernel.args) {
            if (arg.kind === 'size') needsBound(arg.dim);
            else if (arg.kind === 'scratch') needsBound(arg.length);
          }
          break;
        case 'bind':
          for (const { name } of step.sizes) made.set(name, step);
          break;
        case 'branch':
          visit(step.consequent);
          visit(step.alternate);
          break;
        case 'foreach':
        case 'while':
          for (const { bytes } of step.rows) needs(bytes);
          for (const { elements } of step.paddings) needs(elements);
          if (step.kind === 'while') {
            if (step.limit !== null) needs(step.limit);
            visit(step.condition);
          } else if (step.count === null) needsBound(step.length);
          else needs(step.length);
          visit(step.body);
      }
    }
  };
  visit(steps);
  for (const { sizes } of made.values()) {
    if (!sizes.some(({ name }) => known.has(name))) continue;
    for (const { name } of sizes) known.add(name);
  }
  for (const name of known) made.delete(name);
  return made;
}
