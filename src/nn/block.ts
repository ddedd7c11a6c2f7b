import { ArgumentError } from '../base/errors.js';
import type { Capturable } from '../front/capturable.js';
import { hybridize, type Hybridized } from '../front/hybridize.js';
import type { HybridizeOptions } from '../front/hybridizeoptions.js';
import type { Explanation } from '../front/explain.js';
import type { NDArray } from '../front/ndarray.js';
import type { StaticGraph } from '../front/staticgraph.js';
import { Parameter } from './parameter.js';
import {
  loadParameterFile,
  parametersFromSafetensors,
  parametersToSafetensors,
  saveParameterFile,
} from './persistence.js';
import { summarize } from './summary.js';

/**
 * A piece of a network: it owns parameters and other blocks as plain properties (or lists of them), and
 * says in `forward` what it computes. Write `forward`, call `call`.
 */
export abstract class Block implements Capturable {
  abstract forward(...args: never[]): unknown;

  /** Runs the block. Parameters whose sizes are still unknown get them here. */
  call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    this.resolve(args);
    return this.forward(...args) as ReturnType<this['forward']>;
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

  /** All parameters below this block by dotted path; one that is shared appears once. */
  parameters(): Map<string, Parameter> {
    const found = new Map<string, Parameter>();
    const seen = new Set<Parameter>();
    const visit = (block: Block, prefix: string): void => {
      for (const [path, member] of block.members()) {
        if (member instanceof Block) visit(member, `${prefix}${path}.`);
        else if (!seen.has(member)) {
          seen.add(member);
          member.name = `${prefix}${path}`;
          found.set(member.name, member);
        }
      }
    };
    visit(this, '');
    return found;
  }

  /** Gives every parameter its first value, now or, where sizes are unknown, at the first call. */
  initialize(options: { readonly force?: boolean } = {}): this {
    this.#awaitsFirstCall = true;
    for (const [, member] of this.members()) member.initialize(options);
    return this;
  }

  #awaitsFirstCall = false;

  /** Resolves and initializes this block's own parameters before their first use. */
  protected resolve(args: readonly unknown[]): void {
    const own = [...this.members()].flatMap(([path, member]) =>
      member instanceof Parameter ? [[path, member] as const] : [],
    );
    const waiting = own.filter(([, parameter]) => !parameter.isInitialized);
    if (waiting.length === 0) return;
    if (!this.#awaitsFirstCall) {
      throw new ArgumentError(
        `parameter ${waiting[0][0]} of ${this.constructor.name} is not initialized`,
        {
          op: `${this.constructor.name}.call`,
          advice:
            'call initialize() on the network, or load parameters into it, before its first use',
        },
      );
    }
    this.inferShape?.(...(args as never[]));
    for (const [path, parameter] of waiting) {
      parameter.initialize();
      if (!parameter.isInitialized) {
        throw new ArgumentError(
          `the sizes of parameter ${path} of ${this.constructor.name} are still unknown`,
          {
            op: `${this.constructor.name}.call`,
            expected: 'inferShape to call resolveShape for it',
            actual: parameter.shapeText,
          },
        );
      }
    }
  }

  /** Writes all parameters to a safetensors file: to a temporary file first, which then takes its place. */
  async saveParameters(path: string): Promise<void> {
    await saveParameterFile(path, this.parameters());
  }

  /** Reads what `saveParameters` wrote; may come before sizes are known. Nothing changes if anything is missing. */
  async loadParameters(path: string): Promise<void> {
    await loadParameterFile(path, this.parameters());
  }

  /** All parameters as the bytes of a safetensors file. */
  toSafetensors(): Uint8Array {
    return parametersToSafetensors(this.parameters());
  }

  fromSafetensors(bytes: Uint8Array): void {
    parametersFromSafetensors(bytes, this.parameters());
  }

  /** @internal What graphs captured from methods of the block depend on. */
  captureOptions(): ReturnType<Capturable['captureOptions']> {
    return {
      nameOf: (array) => nameOf(this, array),
      keyOf: () => structureKey(this),
      partsOf: () => structureParts(this),
    };
  }

  /** A table of blocks, output shapes and parameter counts, from one call on `args` in predict mode. */
  summary(...args: Parameters<this['forward']>): string {
    return summarize(this, args);
  }
}

/** A block that can also run as a captured, compiled graph. */
export abstract class HybridBlock extends Block {
  #captured: Hybridized<this['forward']> | undefined;

  /** From now on calls run captured graphs, one for each signature; `{ active: false }` goes back. */
  hybridize(options: HybridizeOptions = {}): this {
    this.#captured = options.active === false ? undefined : this.#capture(options);
    return this;
  }

  override call(...args: Parameters<this['forward']>): ReturnType<this['forward']> {
    this.resolve(args);
    return this.#captured === undefined
      ? (this.forward(...args) as ReturnType<this['forward']>)
      : (this.#captured(...args) as ReturnType<this['forward']>);
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
    const forward = ((...args: Parameters<this['forward']>) =>
      this.forward(...args)) as this['forward'];
    return hybridize(forward, {
      ...options,
      name: this.constructor.name,
      ...this.captureOptions(),
    });
  }
}

/** The path of the parameter that holds an array. */
function nameOf(block: Block, array: NDArray): string | undefined {
  for (const [name, parameter] of block.parameters()) {
    if (parameter.isInitialized && parameter.value === array) return name;
  }
  return undefined;
}

const identities = new WeakMap<object, number>();
let nextIdentity = 0;

function identityOf(member: object): number {
  let identity = identities.get(member);
  if (identity === undefined) identities.set(member, (identity = nextIdentity++));
  return identity;
}

/** Which blocks and parameters a block is made of, by identity: replacing one means another graph. */
function structureKey(block: Block): string {
  let key = '';
  for (const [, member] of block.members()) {
    const identity = identityOf(member);
    key += member instanceof Block ? `${identity}(${structureKey(member)})` : `${identity},`;
  }
  return key;
}

/** The same by path, for people: `encoder.fc` is `Dense#3`. */
function structureParts(
  block: Block,
  prefix: string = '',
  parts: Map<string, string> = new Map(),
): ReadonlyMap<string, string> {
  for (const [path, member] of block.members()) {
    parts.set(`${prefix}${path}`, `${member.constructor.name}#${identityOf(member)}`);
    if (member instanceof Block) structureParts(member, `${prefix}${path}.`, parts);
  }
  return parts;
}
