import { ArgumentError, KaonError } from '../base/errors.js';
import type { Capturable } from '../front/options/capturable.js';
import { isCapturing, noteFields, withoutNotingSizes } from '../front/core/capture.js';
import { unobserved } from '../front/fields/watch.js';
import { hybridize, type Hybridized } from '../front/hybrid/hybridize.js';
import {
  checkHybridizeOptions,
  type HybridizeOptions,
} from '../front/options/hybridize-options.js';
import { flattenTree } from '../base/attributes/tree.js';
import { pause } from '../front/autograd/index.js';
import type { Explanation } from '../front/caches/explain.js';
import { NDArray } from '../front/core/ndarray.js';
import { placedBeside } from '../front/devices/placing.js';
import { generatorState, setGeneratorState } from '../front/dispatch/generator.js';
import { setOriginal } from '../front/options/originals.js';
import { refuseUnconverted } from '../front/hybrid/unconverted.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';

import { type ArrayRecord, arraysOf, type FileSource } from './array-files.js';
import { initializeAll, type InitializeOptions, Parameter } from './parameter.js';
import { assignMapped, type LoadParametersOptions, type LoadReport } from './parameter-map.js';
import {
  parametersFromSafetensors,
  parametersToSafetensors,
  saveParameterFile,
} from './persistence.js';
import { BlockStructure, foundIn } from './structure.js';
import { summarize } from './summary.js';

/**
 * A part of a network: it owns parameters and other blocks as plain properties, or in lists, maps, sets and plain
 * objects, and `forward` defines its computation. Subclasses implement `forward`; users invoke `call`.
 */
export abstract class Block implements Capturable {
  /** Definition of the computation. Users invoke it through `call`, which handles parameters and capture. */
  abstract forward(...args: never[]): unknown;

  /** Runs the block. Parameters whose sizes are still unknown are resolved here. */
  call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    if (isCapturing()) noteFields(this);
    let unresolve: (() => void) | null = null;
    try {
      unresolve = this.resolve(args);
      return runForward(this, args);
    } catch (error) {
      unresolve?.();
      throw cameOutOf(this, error);
    }
  }

  /**
   * Resolves sizes that depend on the input, through `Parameter.resolveShape`. Called with the arguments of
   * the first call while the block's own parameters are unresolved.
   */
  inferShape?(...args: never[]): void;

  /**
   * Child blocks and parameters by path: properties, and entries of lists, maps, sets and plain objects that
   * properties hold, however deep, as `layers.0.norm`.
   */
  *members(): IterableIterator<readonly [string, Block | Parameter]> {
    const entered = new Set<object>();
    for (const [key, value] of Object.entries(this)) {
      yield* foundIn(key, value, isMember, entered);
    }
  }

  /** @internal All descendants by dotted path; the contents of a shared block only at its first path. */
  *descendants(
    prefix: string = '',
    entered: Set<Block> = new Set([this]),
  ): IterableIterator<readonly [string, Block | Parameter]> {
    for (const [path, member] of this.members()) {
      yield [`${prefix}${path}`, member];
      if (member instanceof Parameter || entered.has(member)) continue;
      entered.add(member);
      yield* member.descendants(`${prefix}${path}.`, entered);
    }
  }

  /** All parameters below this block by dotted path; a shared one appears once. */
  parameters(): Map<string, Parameter> {
    const found = new Map<string, Parameter>();
    const seen = new Set<Parameter>();
    for (const [path, member] of this.descendants()) {
      if (member instanceof Block || seen.has(member)) continue;
      seen.add(member);
      member.name = path;
      found.set(path, member);
    }
    return found;
  }

  /**
   * Moves all parameters to a device, with the gradients that they keep; those that get their values later are made
   * there. Arrays that an optimizer keeps follow at its next step. Parameters of a dtype that the device lacks stay on
   * the CPU.
   *
   * @throws DeviceError when the device has no room, or when the way back has to be waited for (see `cpu`).
   */
  to(device: string): this {
    for (const parameter of this.parameters().values()) parameter.moveTo(device);
    return this;
  }

  /** Moves all parameters to the CPU, from a device that may answer later. */
  async cpu(): Promise<this> {
    for (const parameter of this.parameters().values()) await parameter.fetch();
    return this;
  }

  /**
   * Initializes every parameter, now or, where sizes are unknown, at the first call. Random values depend on
   * the generator's state now and on the order of `parameters()`, not on when sizes become known.
   */
  initialize(options: InitializeOptions = {}): this {
    initializeAll([...this.parameters().values()], options);
    const blocks = [...this.descendants()].map(([, member]) => member);
    for (const block of [this, ...blocks]) {
      if (block instanceof Block) [block.#awaitsFirstCall, block.#isComplete] = [true, false];
    }
    return this;
  }

  #awaitsFirstCall = false;
  /** True when all parameters had values at an earlier call. */
  #isComplete = false;

  /**
   * True when a block has own parameters without a value. Called before every call, so it looks into maps and nested
   * lists only until all are complete.
   */
  static #isWaiting(block: Block): boolean {
    for (const value of Object.values(block) as unknown[]) {
      if (Array.isArray(value) ? value.some(lacksValue) : lacksValue(value)) return true;
    }
    if (block.#isComplete) return false;
    for (const [, member] of block.members()) if (lacksValue(member)) return true;
    block.#isComplete = true;
    return false;
  }

  /**
   * Resolves and initializes this block's own parameters before their first use. The returned function undoes
   * that if the call fails: a wrong input must not fix sizes. Null when there was nothing to do.
   */
  protected resolve(args: readonly unknown[]): (() => void) | null {
    // Unobserved, so that captured code does not depend on the check.
    const isWaiting = isCapturing() ? unobserved(Block.#isWaiting, this) : Block.#isWaiting(this);
    if (!isWaiting) return null;
    const waiting = [...this.members()].flatMap(([path, member]) =>
      member instanceof Parameter && !member.isInitialized ? [[path, member] as const] : [],
    );
    if (!this.#awaitsFirstCall) {
      throw new ArgumentError(
        `parameter ${waiting[0][0]} of ${this.constructor.name} is not initialized`,
        {
          op: `${this.constructor.name}.call`,
          expected: 'parameters that have values, or get them at the first call',
          actual: `no value, shape ${waiting[0][1].shapeText}`,
          advice:
            'call initialize() on the network, or load parameters into it, before its first use',
        },
      );
    }
    const before = waiting.map(([, parameter]) => parameter.remember());
    const unresolve = (): void => before.forEach((restore) => restore());
    try {
      // Parameters are resolved once and for all, so their sizes are not recorded as assumptions of graphs.
      withoutNotingSizes(() => this.inferShape?.(...(args as never[])));
      for (const [path, parameter] of waiting) this.#begin(path, parameter);
    } catch (error) {
      unresolve();
      throw error;
    }
    return unresolve;
  }

  #begin(path: string, parameter: Parameter): void {
    parameter.begin();
    if (parameter.isInitialized) return;
    const { name } = this.constructor;
    throw new ArgumentError(`the sizes of parameter ${path} of ${name} are still unknown`, {
      op: `${name}.call`,
      expected: 'inferShape to call resolveShape for it',
      actual: parameter.shapeText,
    });
  }

  /** Writes all parameters to a safetensors file, atomically by way of a temporary file. */
  async saveParameters(path: string | URL): Promise<void> {
    await saveParameterFile(path, this.parameters());
  }

  /**
   * Loads parameters from a file (.safetensors, .npz) or an object; sizes may still be unknown. `map`
   * translates names and layouts of other libraries. With `strict` (the default), nothing changes when the
   * file lacks a parameter or has arrays that are not parameters.
   *
   * @throws FormatError for files that cannot be read or do not fit; ArgumentError for other options.
   */
  async loadParameters(
    source: FileSource | ArrayRecord,
    options?: LoadParametersOptions,
  ): Promise<LoadReport> {
    const arrays = await arraysOf('loadParameters', source);
    return assignMapped('loadParameters', this.parameters(), arrays, options);
  }

  /** All parameters as the bytes of a safetensors file. */
  toSafetensors(): Uint8Array {
    return parametersToSafetensors(this.parameters());
  }

  /** Synchronous `loadParameters` for the bytes of a safetensors file. */
  fromSafetensors(bytes: Uint8Array, options?: LoadParametersOptions): LoadReport {
    return parametersFromSafetensors(bytes, this.parameters(), options);
  }

  /** @internal Names of values that graphs captured from methods of the block read. */
  captureOptions(): ReturnType<Capturable['captureOptions']> {
    const structure = new BlockStructure(this);
    return {
      nameOf: (array) => structure.nameOf(array),
      partsOf: () => structure.names,
    };
  }

  /** @internal Switches to eager execution until the returned function is called. */
  suspendCapture(): () => void {
    return () => undefined;
  }

  /** A table of blocks, output shapes and parameter counts, from one call on `args` in predict mode. */
  summary(...args: Parameters<this['forward']>): string {
    return summarize(this, args);
  }
}

/** A block that can also run as a captured, compiled graph. */
export abstract class HybridBlock extends Block {
  #captured: Hybridized<this['forward']> | undefined;
  #options: HybridizeOptions = {};

  /** Switches to captured graphs, one for each signature; `{ active: false }` switches back. */
  hybridize(options: HybridizeOptions = {}): this {
    checkHybridizeOptions(options);
    this.#captured = options.active === false ? undefined : this.#capture(options);
    this.#options = options;
    return this;
  }

  /**
   * Switches to captured graphs for a backend (see `hybridize`), and compiles at once what a call on this input runs, by
   * one run in prediction mode whose results are dropped.
   *
   * @param input The argument of `forward`, or a list of its arguments.
   * @returns The block, when the backend has compiled and run its parts.
   * @throws ArgumentError for a backend that is not registered; DeviceError, as a rejection, when the backend fails.
   * The block is then as it was before.
   */
  async optimizeFor(
    input: Parameters<this['forward']>[0] | readonly unknown[],
    options: HybridizeOptions & { readonly backend: string },
  ): Promise<this> {
    const args = (Array.isArray(input) ? input : [input]) as unknown as Parameters<this['forward']>; // `forward` checks them
    const [captured, before] = [this.#captured, this.#options];
    this.hybridize(options);
    try {
      const state = generatorState();
      let results: unknown;
      try {
        results = pause(() => this.call(...args));
      } finally {
        setGeneratorState(state);
      }
      const { leaves } = flattenTree(results, (leaf) => leaf instanceof NDArray);
      for (const leaf of leaves) await leaf.cpu();
    } catch (error) {
      this.#captured = captured;
      this.#options = before;
      throw error;
    }
    return this;
  }

  override call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    if (isCapturing()) noteFields(this);
    let unresolve: (() => void) | null = null;
    try {
      unresolve = this.resolve(args);
      return this.#captured === undefined
        ? runForward(this, args)
        : (this.#captured(...args) as ReturnType<this['forward']>);
    } catch (error) {
      if (unresolve !== null) {
        unresolve();
        // The captured call holds parameter values that were replaced.
        if (this.#captured !== undefined) this.#captured = this.#capture(this.#options);
      }
      throw cameOutOf(this, error);
    }
  }

  override suspendCapture(): () => void {
    const captured = this.#captured;
    this.#captured = undefined;
    return () => (this.#captured = captured);
  }

  /** Captured graphs, their use counts, and the reasons of recaptures. */
  explain(): Explanation {
    return this.#captured === undefined ? this.#capture({}).explain() : this.#captured.explain();
  }

  /** The graph that a call on these arguments runs; parameters are named inputs with bound values. */
  graphFor(...args: Parameters<this['forward']>): StaticGraph {
    this.resolve(args);
    const captured = this.#captured ?? this.#capture({});
    return captured.graphFor(...args);
  }

  #capture(options: HybridizeOptions): Hybridized<this['forward']> {
    refuseUnconverted(this.forward, 'hybridize');
    const forward = ((...args: Parameters<this['forward']>) => {
      noteFields(this, 'this');
      return this.forward(...args);
    }) as this['forward'];
    setOriginal(forward, this.forward);
    return hybridize(forward, {
      ...options,
      name: this.constructor.name,
      ...this.captureOptions(),
    });
  }
}

/** Runs the definition of a block. Arrays that it makes live where its inputs are, as in captured code. */
function runForward<B extends Block>(
  block: B,
  args: Parameters<B['forward']>,
): ReturnType<B['forward']> {
  const inputs = (args as readonly unknown[]).flat();
  return placedBeside(inputs, () => block.forward(...args)) as ReturnType<B['forward']>;
}

/** Adds the block to an error of a call: `items.1.d (Dense)`, relative to the outermost block. */
function cameOutOf(block: Block, error: unknown): unknown {
  if (!(error instanceof KaonError)) return error;
  error.comeOutOf(block, (innermost) => {
    if (innermost === block) return block.constructor.name;
    for (const [path, member] of block.descendants()) {
      if (member === innermost) return `${path} (${member.constructor.name})`;
    }
    return undefined;
  });
  return error;
}

function isMember(value: unknown): value is Block | Parameter {
  return value instanceof Parameter || value instanceof Block;
}

function lacksValue(value: unknown): boolean {
  return value instanceof Parameter && !value.isInitialized;
}
