import { ArgumentError, KaonError } from '../base/errors.js';
import type { Capturable } from '../front/options/capturable.js';
import { isCapturing, noteFields, withoutNotingSizes } from '../front/core/capture.js';
import { unobserved } from '../front/fields/watch.js';
import { hybridize, type Hybridized } from '../front/hybrid/hybridize.js';
import {
  checkOptions as checkHybridizeOptions,
  type HybridizeOptions,
} from '../front/options/hybridize-options.js';
import type { Explanation } from '../front/caches/explain.js';
import type { StaticGraph } from '../front/graphs/static-graph.js';

import { type ArrayRecord, arraysOf, type FileSource } from './array-files.js';
import { initializeAll, type InitializeOptions, Parameter } from './parameter.js';
import { assignMapped, type LoadParametersOptions, type LoadReport } from './parameter-map.js';
import {
  parametersFromSafetensors,
  parametersToSafetensors,
  saveParameterFile,
} from './persistence.js';
import { Structure } from './structure.js';
import { summarize } from './summary.js';

/**
 * A piece of a network: it owns parameters and other blocks as plain properties (or lists of them), and
 * says in `forward` what it computes. Write `forward`, call `call`.
 */
export abstract class Block implements Capturable {
  /** What the block computes. Users ask for it by `call`, which sees to parameters and capture. */
  abstract forward(...args: never[]): unknown;

  /** Runs the block. Parameters whose sizes are still unknown get them here. */
  call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    if (isCapturing()) noteFields(this);
    let unresolve: (() => void) | null = null;
    try {
      unresolve = this.resolve(args);
      return this.forward(...args) as ReturnType<this['forward']>;
    } catch (error) {
      unresolve?.();
      throw cameOutOf(this, error);
    }
  }

  /**
   * Tells sizes that depend on the input, through `Parameter.resolveShape`. Called with the arguments of
   * the first call while parameters of this very block are unresolved.
   */
  inferShape?(...args: never[]): void;

  /** Every block and parameter below this one, by property path; a list contributes its indices. */
  *members(): IterableIterator<readonly [string, Block | Parameter]> {
    for (const [key, value] of Object.entries(this)) {
      const entries: [string, unknown][] = Array.isArray(value)
        ? value.map((entry, i) => [`${key}.${i}`, entry])
        : [[key, value]];
      for (const [path, entry] of entries) {
        if (entry instanceof Parameter || entry instanceof Block) yield [path, entry];
      }
    }
  }

  /** @internal Everything below by dotted path; what is inside of a block only at its first place. */
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

  /** All parameters below this block by dotted path; one that is shared appears once. */
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
   * Gives every parameter its first value, now or, where sizes are unknown, at the first call. Random
   * ones depend on the generator as it is now and on the order of `parameters()`, not on when sizes
   * become known.
   */
  initialize(options: InitializeOptions = {}): this {
    initializeAll([...this.parameters().values()], options);
    this.#awaitsFirstCall = true;
    for (const [, member] of this.descendants()) {
      if (member instanceof Block) member.#awaitsFirstCall = true;
    }
    return this;
  }

  #awaitsFirstCall = false;

  /**
   * Resolves and initializes this block's own parameters before their first use. What is returned takes that
   * back where the call then fails: a wrong input must not settle sizes. Null where there was nothing to do.
   */
  protected resolve(args: readonly unknown[]): (() => void) | null {
    // Captured code does not depend on what is only looked at here.
    if (!(isCapturing() ? unobserved(isWaiting, this) : isWaiting(this))) return null;
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
      // Parameters get their sizes once and for all: that is nothing that graphs for other sizes rely on.
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

  /** Writes all parameters to a safetensors file: to a temporary file first, which then takes its place. */
  async saveParameters(path: string | URL): Promise<void> {
    await saveParameterFile(path, this.parameters());
  }

  /**
   * Gives parameters the arrays of a file (.safetensors, .npz) or of an object; may come before sizes are known. With
   * `map`, names and layouts of other libraries become those of the network. Nothing changes if the file lacks a
   * parameter or has more than the network, unless `strict` is false.
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

  /** The same as `loadParameters` for the bytes of a safetensors file, at once. */
  fromSafetensors(bytes: Uint8Array, options?: LoadParametersOptions): LoadReport {
    return parametersFromSafetensors(bytes, this.parameters(), options);
  }

  /** @internal How graphs captured from methods of the block name what they read. */
  captureOptions(): ReturnType<Capturable['captureOptions']> {
    const structure = new Structure(this);
    return {
      nameOf: (array) => structure.nameOf(array),
      partsOf: () => structure.names,
    };
  }

  /** @internal Runs eagerly from now on, until the returned function is called. */
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

  /** From now on calls run captured graphs, one for each signature; `{ active: false }` goes back. */
  hybridize(options: HybridizeOptions = {}): this {
    checkHybridizeOptions(options);
    this.#captured = options.active === false ? undefined : this.#capture(options);
    this.#options = options;
    return this;
  }

  override call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    if (isCapturing()) noteFields(this);
    let unresolve: (() => void) | null = null;
    try {
      unresolve = this.resolve(args);
      return this.#captured === undefined
        ? (this.forward(...args) as ReturnType<this['forward']>)
        : (this.#captured(...args) as ReturnType<this['forward']>);
    } catch (error) {
      if (unresolve !== null) {
        unresolve();
        // What was captured of this call holds the values that are no longer there.
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

  /** What was captured, how often it was used, and why it was captured again. */
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
    const forward = ((...args: Parameters<this['forward']>) => {
      noteFields(this, 'this');
      return this.forward(...args);
    }) as this['forward'];
    return hybridize(forward, {
      ...options,
      name: this.constructor.name,
      ...this.captureOptions(),
    });
  }
}

/** The error of a call, which now says in which block it happened: `items.1.d (Dense)`, seen from the outermost. */
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

/** Whether a block has parameters of its own without a value. Asked before every call, so it builds nothing. */
function isWaiting(block: Block): boolean {
  for (const value of Object.values(block) as unknown[]) {
    if (Array.isArray(value) ? value.some(lacksValue) : lacksValue(value)) return true;
  }
  return false;
}

function lacksValue(value: unknown): boolean {
  return value instanceof Parameter && !value.isInitialized;
}
