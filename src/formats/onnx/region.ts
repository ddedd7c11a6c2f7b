import { type Attributes, checkAttributes } from '../../base/attributes/schema.js';
import { type Dim, type DimExpr, symbol, symbolTable } from '../../base/dim/index.js';
import { InternalError } from '../../base/errors.js';
import { substituteType, symbolsOfTypes, undeterminedSymbols } from '../../ir/bind.js';
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
  /** The sizes of the surroundings for names of `#renamed`. */
  readonly #outer: Map<string, DimExpr> = new Map();

  constructor(parent: ImportedRegion | null) {
    this.parent = parent;
  }

  constant(data: ConstantData): Value {
    let value = this.#constants.get(data);
    if (value === undefined) this.#constants.set(data, (value = this.program.constant(data)));
    return value;
  }

  /** Sizes of the surroundings that it is passed, in the order of its size parameters. */
  get sizes(): readonly DimExpr[] {
    return this.program.sizes.map((size) => this.#outer.get(size.key) ?? size);
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
        if (!isTaken) continue;
        const renamed = this.program.freshDim(name, bounds);
        this.#renamed.set(name, renamed);
        this.#outer.set(renamed.key, symbol(name, bounds));
      }
      inner = this.variable('outer', substituteType(outer.type, this.#renamed));
      this.captures.set(outer, inner);
    }
    return inner;
  }

  /** True when a size of the surroundings is one here by the same name. It is passed where no input brings it. */
  knows(dim: Dim): boolean {
    return [...symbolTable(dim)].every(([name, bounds]) => {
      if (this.#renamed.has(name) || this.program.decidedSizes.has(name)) return false;
      if (this.parent !== null) this.take(symbol(name, bounds));
      return this.program.knowsSize(name);
    });
  }

  /** Has the region be passed a size, unless it knows it. */
  take(size: DimExpr): void {
    if (!this.program.knowsSize(size.key)) this.program.takeSize(size);
  }

  /** An input. Sizes in its type that no input tells are passed. */
  variable(name: string, type: TensorType): Value {
    const types = [...this.program.inputs.map((input) => input.type), type];
    if (this.parent !== null)
      undeterminedSymbols(types, new Map()).forEach((size) => this.take(size));
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
