import {
  type Dim,
  DimExpr,
  sameDim,
  substituteDim,
  symbol,
  symbolTable,
} from '../../base/dim/index.js';
import { passedSizes } from '../../base/attributes/attribute.js';
import { type Attributes } from '../../base/attributes/schema.js';
import { attributesKey } from '../../base/attributes/key.js';
import type { NodeId } from '../../graph/graph.js';
import {
  type CallNode,
  type ConstantNode,
  type Program,
  type ProgramNode,
  type Value,
} from '../../ir/program.js';
import type { Operator } from '../../ir/operator.js';
import { nameOfSize } from '../../ir/size-sources.js';
import type { Shape, TensorType } from '../../ir/types.js';
import { declarationOf, sizesPassedBy } from '../../ops/declare/facets.js';
import {
  type Difference,
  describeNode,
  describeOutput,
  lastSource,
  type TraceSide,
  sourceOf,
} from './describe-trace.js';
import { dimWithSizes } from '../options/sizes.js';

/** The subject of a difference in control flow. */
const deciding = 'what decides between the two';

/** Comparison of two programs node by node. */
export class ProgramComparison {
  readonly #sizes: ReadonlyMap<string, number>;
  /** Local symbols of regions: the second program's name for the first one's. */
  readonly #names: Map<string, string> = new Map();

  constructor(sizes: ReadonlyMap<string, number>) {
    this.#sizes = sizes;
  }

  /**
   * @param around The line of the operator that owns the programs, when they are regions.
   * @param mayRename Inputs and results may have sizes of other names.
   */
  compare(
    first: Program,
    second: Program,
    { around, mayRename }: { readonly around?: string; readonly mayRename: boolean },
  ): Difference | null {
    const [nodes, others] = [comparedNodes(first), comparedNodes(second)];
    const count = Math.min(nodes.length, others.length);
    const isSameValue = sameValueIn(nodes, others);
    const sideOf = (program: Program, id: NodeId): TraceSide => ({
      text: describeNode(program, id),
      source: sourceOf(program, id) ?? around,
    });
    for (let at = 0; at < count; at++) {
      const [id, other] = [nodes[at], others[at]];
      const areOperandsSame = sameValues(first.operands(id), second.operands(other), isSameValue);
      const problem = this.#problemAt(
        first.node(id),
        second.node(other),
        areOperandsSame,
        mayRename,
      );
      if (problem !== null) {
        return {
          problem,
          first: sideOf(first, id),
          second: sideOf(second, other),
          subject: this.#subjectAt(first.node(id), second.node(other)),
        };
      }
      const [a, b] = [first.node(id) as CallNode, second.node(other) as CallNode];
      if (a.kind !== 'call') continue;
      for (let i = 0; i < a.regions.length; i++) {
        const line = a.source ?? around ?? '';
        const inside = this.#inside(a, b, i).compare(a.regions[i], b.regions[i], {
          around: line,
          mayRename: true,
        });
        if (inside !== null) return inside;
      }
    }
    if (nodes.length !== others.length) {
      const next = (program: Program, [id]: readonly NodeId[]): TraceSide =>
        id === undefined
          ? { text: 'nothing more', source: lastSource(program) ?? around }
          : sideOf(program, id);
      return {
        problem: 'another number of operators',
        first: next(first, nodes.slice(count)),
        second: next(second, others.slice(count)),
        subject: deciding,
      };
    }
    for (let i = 0; i < Math.max(first.outputs.length, second.outputs.length); i++) {
      const [a, b] = [first.outputs[i], second.outputs[i]];
      const isSame =
        a !== undefined && b !== undefined && a.name === b.name && isSameValue(a.value, b.value);
      if (isSame) continue;
      const describe = (program: Program): TraceSide => describeOutput(program, i);
      return {
        problem: 'another output',
        first: describe(first),
        second: describe(second),
        subject: deciding,
      };
    }
    return null;
  }

  /** The comparison of two regions, whose size parameters stand for what they are passed. */
  #inside(a: CallNode, b: CallNode, region: number): ProgramComparison {
    const [own, others] = [a.regions[region].sizes, b.regions[region].sizes];
    const sizes = new Map(this.#sizes);
    // A trace for known sizes passes fewer.
    const open = own.filter(({ key }, i) => {
      const passed = dimWithSizes(sizesPassedBy(a)[i], this.#sizes);
      if (own.length === others.length || typeof passed !== 'number') return true;
      sizes.set(key, passed);
      return false;
    });
    const inside = new ProgramComparison(sizes);
    open.forEach(({ key }, i) => {
      if (i < others.length) inside.#names.set(key, others[i].key);
    });
    return inside;
  }

  /** Difference between two nodes in words; null when there is none. */
  #problemAt(
    a: ProgramNode,
    b: ProgramNode,
    areOperandsSame: boolean,
    mayRename: boolean,
  ): string | null {
    if (a.kind === 'variable') {
      if (b.kind !== 'variable') return 'another operator';
      // Names are for people, and owners may rename their arrays; reads are compared below.
      return this.#sameType(a.type, b.type, mayRename) ? null : 'another input';
    }
    if (a.kind === 'constant') {
      if (b.kind !== 'constant') return 'another operator';
      const isSame = this.#sameType(a.data.type, b.data.type, false) && sameElements(a, b);
      return isSame ? null : 'another constant';
    }
    if (a.kind === 'check') return null;
    if (b.kind === 'constant' && this.#isSize(a, b)) return null;
    if (b.kind !== 'call' || a.op.name !== b.op.name) return 'another operator';
    if (!areOperandsSame) return 'an operator with other operands';
    if (!this.#sameAttributes(a.op, a.attributes, b.attributes)) {
      return 'an operator with other attributes';
    }
    this.#matchDecided(a, b);
    const isTyped =
      a.types.length === b.types.length &&
      a.types.every((type, i) => this.#sameType(type, b.types[i], mayRename));
    if (!isTyped) return 'an operator with another result';
    return a.regions.length === b.regions.length ? null : 'an operator with other bodies';
  }

  /** Matches the sizes that two calls decide: traces may name them differently. */
  #matchDecided({ decides }: CallNode, { decides: others }: CallNode): void {
    if (decides.length !== others.length) return;
    decides.forEach(({ size }, i) => {
      const [name, other] = [size, others[i].size].map(nameOfSize);
      if (name !== null && other !== null && !this.#names.has(name)) this.#names.set(name, other);
    });
  }

  /** True for a call that only returns a size, which is a number in the second program. */
  #isSize({ op, attributes, types: [type] }: CallNode, { data }: ConstantNode): boolean {
    const size = declarationOf(op).size?.(attributes);
    return (
      size !== undefined &&
      this.#sameType(type, data.type, false) &&
      dimWithSizes(size, this.#sizes) === Number(data.data[0])
    );
  }

  /** The value that makes two nodes differ, if it can be named. */
  #subjectAt(a: ProgramNode, b: ProgramNode): string {
    if (a.kind === 'constant' && b.kind === 'constant') {
      const [x, y] = [a.data.data, b.data.data];
      return x.length === 1 && y.length === 1
        ? `the number that was ${x[0]} and is ${y[0]}`
        : 'the elements of the constant';
    }
    if (a.kind === 'call' && b.kind === 'call' && a.op.name === b.op.name) {
      const name = Object.keys(a.op.attributes).find(
        (each) => !this.#sameValue(a.attributes[each], b.attributes[each]),
      );
      if (name !== undefined) return `the ${name} of ${a.op.name}`;
    }
    return deciding;
  }

  #sameType(a: TensorType, b: TensorType, maySettle: boolean): boolean {
    if (a === b) return true;
    if (a.dtype !== b.dtype || a.shape.length !== b.shape.length) return false;
    return a.shape.every((dim, axis) => this.#sameDim(dim, b.shape[axis], maySettle));
  }

  /** @param maySettle Symbols without counterparts may be matched here, in expressions, too. */
  #sameDim(a: Dim, b: Dim, maySettle: boolean): boolean {
    const known = dimWithSizes(a, this.#sizes);
    if (known === b) return true;
    if (typeof known === 'number' || typeof b === 'number') return false;
    if (sameDim(this.#renamed(known), b)) return true;
    if (!maySettle) return false;
    const [form, other] = [known.key, b.key].map((each) => each.replace(/[A-Za-z_]\w*/g, '?'));
    const [names, others] = [known.key, b.key].map((each) => each.match(/[A-Za-z_]\w*/g) ?? []);
    const fits = (name: string, i: number): boolean =>
      (this.#names.get(name) ?? others[i]) === others[i];
    if (form !== other || !names.every(fits)) return false;
    names.forEach((name, i) => this.#names.set(name, others[i]));
    return true;
  }

  /** A dimension in the names of the second program; their order decides the form of sums and maxima. */
  #renamed(dim: DimExpr): Dim {
    const names = [...symbolTable(dim)].map(([name, bounds]): [string, Dim] => [
      name,
      symbol(this.#names.get(name) ?? name, bounds),
    ]);
    return substituteDim(dim, new Map(names));
  }

  /** Compares all but the texts of errors, in which sizes that are known are numbers. */
  #sameAttributes(op: Operator, a: Attributes, b: Attributes): boolean {
    if (a === b) return true;
    const isSame = (name: string): boolean => {
      const kind = op.attributes[name];
      if (kind.isMessage === true || this.#sameValue(a[name], b[name])) return true;
      return kind === passedSizes && this.#sameValue(this.#unsettled(a[name] as Shape), b[name]);
    };
    if (Object.keys(op.attributes).every(isSame)) return true;
    return attributesKey(op, a) === attributesKey(op, b);
  }

  /** Sizes that are not known numbers. */
  #unsettled(sizes: Shape): Shape {
    return sizes.filter((size) => typeof dimWithSizes(size, this.#sizes) !== 'number');
  }

  #sameValue(a: unknown, b: unknown): boolean {
    if (Object.is(a, b)) return true;
    if (a instanceof DimExpr || b instanceof DimExpr) {
      return isDim(a) && isDim(b) && this.#sameDim(a, b, false);
    }
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((entry, i) => this.#sameValue(entry, b[i]));
  }
}

function isDim(value: unknown): value is Dim {
  return typeof value === 'number' || value instanceof DimExpr;
}

/**
 * Nodes that are compared: all but checks. A trace for known sizes has fewer of them, and calls with the same
 * attributes on the same types require the same.
 */
function comparedNodes({ graph }: Program): readonly NodeId[] {
  return [...graph.nodes()].filter((id) => graph.node(id).kind !== 'check');
}

/** Predicate of values that are the same result of corresponding nodes. */
type SameValue = (a: Value, b: Value) => boolean;

function sameValueIn(nodes: readonly NodeId[], others: readonly NodeId[]): SameValue {
  const counterparts = new Map(nodes.map((id, at) => [id, others[at]]));
  return (a, b) => counterparts.get(a.node) === b.node && a.port === b.port;
}

function sameValues(a: readonly Value[], b: readonly Value[], isSame: SameValue): boolean {
  return a.length === b.length && a.every((value, i) => isSame(value, b[i]));
}

function sameElements(a: ProgramNode, b: ProgramNode): boolean {
  if (a.kind !== 'constant' || b.kind !== 'constant') return false;
  const [x, y] = [a.data.data, b.data.data];
  if (x === y) return true;
  if (x.length !== y.length) return false;
  for (let i = 0; i < x.length; i++) if (!Object.is(x[i], y[i])) return false;
  return true;
}
