import { type Dim, symbolsOf } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { determinedSymbols } from '../../ir/bind.js';
import { Program, type Value } from '../../ir/program.js';
import type { ConstantData, TensorType } from '../../ir/types.js';
import type { Operand } from './operand.js';
import { op } from './place.js';

/** A program that is being made: the whole graph's, or that of a loop's body or a branch. */
export class Region {
  readonly program: Program = new Program();
  readonly parent: Region | null;
  /** Values of the surroundings and what they are here, in the order of the inputs that they became. */
  readonly captures: Map<Value, Value> = new Map();
  readonly #constants: Map<ConstantData, Value> = new Map();

  constructor(parent: Region | null) {
    this.parent = parent;
  }

  constant(data: ConstantData): Value {
    let value = this.#constants.get(data);
    if (value === undefined) this.#constants.set(data, (value = this.program.constant(data)));
    return value;
  }

  /** A value of this region or of its surroundings, as one of this region. */
  use(value: Value): Value {
    if (value.program === this.program) return value;
    if (this.parent === null) {
      throw new InternalError('a value belongs to no region around its use', { op });
    }
    const outer = this.parent.use(value);
    let inner = this.captures.get(outer);
    if (inner === undefined) {
      inner = this.program.variable(this.program.freshName('outer'), outer.type);
      this.captures.set(outer, inner);
    }
    return inner;
  }

  /** Whether a size is known in every run of this region. */
  knows(dim: Dim): boolean {
    const symbols = symbolsOf(dim);
    if (symbols.size === 0) return true;
    const own = determinedSymbols(this.program.inputs.map(({ type }) => type));
    return [...symbols].every((name) => own.has(name));
  }

  variable(name: string, type: TensorType): Value {
    return this.program.variable(this.program.freshName(name), type);
  }
}

/** What the names of a graph stand for, in a region. Sub-graphs see the names around them. */
export class Scope {
  readonly region: Region;
  readonly #parent: Scope | null;
  /** Null for what was left out. */
  readonly #names: Map<string, Operand | null> = new Map();

  constructor(region: Region, parent: Scope | null) {
    this.region = region;
    this.#parent = parent;
  }

  define(name: string, operand: Operand | null): void {
    if (name !== '') this.#names.set(name, operand);
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.#parent?.has(name) === true;
  }

  /** What a name stands for, null for nothing; sizes that this region does not know are forgotten. */
  find(name: string): Operand | null | undefined {
    const own = this.#names.get(name);
    if (own !== undefined) return own;
    const outer = this.#parent?.find(name);
    if (outer === undefined || outer === null || this.#parent!.region === this.region) return outer;
    return outer.kind === 'tensor' ? outer.within((dim) => this.region.knows(dim)) : outer;
  }
}
