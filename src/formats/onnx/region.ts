import { type Attributes, checkAttributes } from '../../base/attributes/schema.js';
import { type Dim, type DimExpr, symbol, symbolsOf } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import {
  determinedSymbols,
  substituteType,
  symbolsOfTypes,
  undeterminedSymbols,
} from '../../ir/bind.js';
import type { Operator } from '../../ir/operator.js';
import { type CallDetails, Program, type Value } from '../../ir/program.js';
import { requireNow } from '../../ir/requirement.js';
import type { ConstantData, TensorType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import { agree } from '../../ops/declare/meeting.js';
import { fitted } from '../../ops/dynamic/stretch-to.js';
import type { ImportedOperand } from './operand.js';
import { importOp } from './place.js';

/**
 * A program whose operands are made to agree. No other program could serve the sizes for which they do, so that
 * all sizes may meet when it runs, as those do in captured code that the data decides.
 */
class AgreeingProgram extends Program {
  override append(
    op: Operator,
    inputs: readonly Value[],
    attributes: Attributes = {},
    details?: CallDetails,
  ): readonly Value[] {
    const { meetings } = declarationOf(op);
    if (meetings === undefined) return super.append(op, inputs, attributes, details);
    checkAttributes(op.name, op.attributes, attributes);
    const shapes = inputs.map(({ type }) => type.shape);
    const fits = agree(shapes, meetings(shapes, attributes), () => true, requireNow);
    return super.append(op, fitted(inputs, fits), attributes, details);
  }
}

/** A program under construction: the whole graph's, or that of a loop body or branch. */
export class ImportedRegion {
  readonly program: Program = new AgreeingProgram();
  readonly parent: ImportedRegion | null;
  /** Captured outer values and the inputs that stand for them, in order. */
  readonly captures: Map<Value, Value> = new Map();
  readonly #constants: Map<ConstantData, Value> = new Map();
  /** Names here for sizes of the surroundings whose own names calls here had given to others before. */
  readonly #renamed: Map<string, Dim> = new Map();
  /** The sizes of the surroundings by these names. */
  readonly #original: Map<string, Dim> = new Map();

  constructor(parent: ImportedRegion | null) {
    this.parent = parent;
  }

  constant(data: ConstantData): Value {
    let value = this.#constants.get(data);
    if (value === undefined) this.#constants.set(data, (value = this.program.constant(data)));
    return value;
  }

  /** A value of this region, or a captured outer value, as a value of this region. */
  use(value: Value): Value {
    if (value.program === this.program) return value;
    if (this.parent === null) {
      throw new InternalError('a value belongs to no region around its use', { op: importOp });
    }
    const outer = this.parent.use(value);
    let inner = this.captures.get(outer);
    if (inner === undefined) {
      for (const [name, bounds] of symbolsOfTypes([outer.type])) {
        const isTaken = this.program.decidedSizes.has(name) && !this.#renamed.has(name);
        if (isTaken) this.#rename(symbol(name, bounds), this.program.freshDim(name, bounds));
      }
      inner = this.variable('outer', substituteType(outer.type, this.#renamed));
      this.captures.set(outer, inner);
    }
    return inner;
  }

  #rename(outer: DimExpr, inner: Dim): void {
    this.#renamed.set(outer.key, inner);
    this.#original.set(String(inner), outer);
  }

  /** Sizes of the surroundings that a call passes to the program, beside its operands. */
  get sizes(): readonly Dim[] {
    return this.program.sizes.map((size) => this.#original.get(size.key) ?? size);
  }

  /** True when a size is determined in every run of this region. */
  knows(dim: Dim): boolean {
    const symbols = symbolsOf(dim);
    if (symbols.size === 0) return true;
    const own = determinedSymbols(this.program.inputs.map(({ type }) => type));
    for (const { key } of this.program.sizes) own.add(key);
    return [...symbols].every((name) => own.has(name));
  }

  /** Adds an input. Sizes that it speaks of but does not tell, as `max(0, n - 1)`, are passed to regions. */
  variable(name: string, type: TensorType): Value {
    for (const size of this.parent === null ? [] : undeterminedSymbols([type], new Map())) {
      if (!this.program.knowsSize(size.key)) this.program.takeSize(size);
    }
    return this.program.variable(this.program.freshName(name), type);
  }
}

/** Names in a region and their operands. Sub-graphs see the names of enclosing graphs. */
export class NameScope {
  readonly region: ImportedRegion;
  readonly #parent: NameScope | null;
  /** Null for omitted operands. */
  readonly #names: Map<string, ImportedOperand | null> = new Map();

  constructor(region: ImportedRegion, parent: NameScope | null) {
    this.region = region;
    this.#parent = parent;
  }

  define(name: string, operand: ImportedOperand | null): void {
    if (name !== '') this.#names.set(name, operand);
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.#parent?.has(name) === true;
  }

  /** The operand of a name, null for an omitted one; knowledge of sizes that this region lacks is dropped. */
  find(name: string): ImportedOperand | null | undefined {
    const own = this.#names.get(name);
    if (own !== undefined) return own;
    const outer = this.#parent?.find(name);
    if (outer === undefined || outer === null || this.#parent!.region === this.region) return outer;
    return outer.kind === 'tensor' ? outer.within((dim) => this.region.knows(dim)) : outer;
  }
}
