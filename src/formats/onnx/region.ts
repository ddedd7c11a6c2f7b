import { type Attributes, checkAttributes } from '../../base/attributes/schema.js';
import { type Bounds, type Dim, type DimExpr, symbol, symbolTable } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { symbolsOfTypes, undeterminedSymbols } from '../../ir/bind.js';
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
  readonly #names: Set<string>;

  /** @param names Names of sizes in all regions of a model. */
  constructor(names: Set<string>) {
    super();
    this.#names = names;
  }

  /** A name is that of one size throughout a model, so that regions may speak of sizes of the code around them. */
  override freshDim(hint: string, bounds?: Partial<Bounds>): DimExpr {
    let size = super.freshDim(hint, bounds);
    while (this.#names.has(size.key)) size = super.freshDim(hint, bounds);
    this.#names.add(size.key);
    return size;
  }

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
  readonly program: Program;
  readonly parent: ImportedRegion | null;
  /** Captured outer values and the inputs that stand for them, in order. */
  readonly captures: Map<Value, Value> = new Map();
  readonly #constants: Map<ConstantData, Value> = new Map();
  readonly #names: Set<string>;

  constructor(parent: ImportedRegion | null) {
    this.parent = parent;
    this.#names = parent === null ? new Set() : parent.#names;
    this.program = new AgreeingProgram(this.#names);
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
      inner = this.variable('outer', outer.type);
      this.captures.set(outer, inner);
    }
    return inner;
  }

  /** Has the region be passed the sizes that a dimension of the code around it speaks of, unless it knows them. */
  take(dim: Dim): void {
    for (const [name, bounds] of symbolTable(dim)) {
      if (!this.program.knowsSize(name)) this.program.takeSize(symbol(name, bounds));
    }
  }

  /** An input. Sizes in its type that no input tells are passed. */
  variable(name: string, type: TensorType): Value {
    const types = [...this.program.inputs.map((input) => input.type), type];
    for (const name of symbolsOfTypes([type]).keys()) this.#names.add(name);
    // The whole program is given nothing but its inputs.
    if (this.parent !== null) undeterminedSymbols(types, new Map()).forEach((size) => this.take(size)); // prettier-ignore
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

  /** The operand of a name, null for an omitted one. The region is passed sizes that its elements are known to be. */
  find(name: string): ImportedOperand | null | undefined {
    const own = this.#names.get(name);
    if (own !== undefined) return own;
    const outer = this.#parent?.find(name);
    if (outer === undefined || outer === null || this.#parent!.region === this.region) return outer;
    if (outer.kind === 'tensor') outer.sizes.forEach((dim) => this.region.take(dim));
    return outer;
  }
}
