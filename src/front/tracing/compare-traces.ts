import { type Dim, DimExpr } from '../../base/dim/index.js';
import {
  type Attributes,
  type AttributeSchema,
  encodeAttributes,
} from '../../base/attributes/schema.js';
import {
  sameStructure,
  type TreeStructure,
  structureToString,
} from '../../base/attributes/tree.js';
import type { NodeId } from '../../graph/graph.js';
import {
  type CallNode,
  type ConstantNode,
  type Program,
  type ProgramNode,
  type Value,
} from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import { declarationOf } from '../../ops/declare/facets.js';
import type { GraphParts, Holder, ExternalRef } from '../graphs/graph.js';
import {
  describeHolder,
  describeNode,
  describeOutput,
  describeOutside,
  lastSource,
  type TraceSide,
  sourceOf,
} from './describe-trace.js';
import type { Segment } from './segments.js';
import { dimWithSizes } from '../options/sizes.js';
import type { Trace } from './trace.js';

/** What two traces of one function disagree in. */
export interface Difference {
  readonly problem: string;
  readonly first: TraceSide;
  readonly second: TraceSide;
  /** What to pass as an argument: the differing value, or the deciding one. */
  readonly subject?: string;
}

/**
 * The first difference between two traces of one function; null when they are equal. Text is made only when
 * something differs.
 *
 * @param sizes Values of the first trace's symbols, when the second was made for these very sizes.
 */
export function compareTraces(
  first: Trace,
  second: Trace,
  sizes: ReadonlyMap<string, number> = new Map(),
): Difference | null {
  const count = Math.min(first.segments.length, second.segments.length);
  for (let k = 0; k < count; k++) {
    const [a, b] = [first.segments[k], second.segments[k]];
    // Values of earlier segments may have data-dependent sizes with other names.
    const mayRename = k > 0;
    const difference =
      new ProgramComparison(sizes).compare(a.parts.program, b.parts.program, { mayRename }) ??
      compareReads(a.parts, b.parts) ??
      compareWrites(a.parts, b.parts) ??
      compareRecording(a.parts, b.parts) ??
      compareCode(a, b);
    if (difference !== null) return difference;
  }
  return compareResults(first, second);
}

/** Compares side-effect code: the same function, called with the same nesting of arrays. */
function compareCode(first: Segment, second: Segment): Difference | null {
  const [a, b] = [first.code, second.code];
  const isSame =
    a?.code === b?.code &&
    a?.takes.join() === b?.takes.join() &&
    (a === null || b === null || sameStructure(a.argStructure, b.argStructure));
  if (isSame) return null;
  const sideOf = ({ code, parts }: Segment): TraceSide =>
    code === null
      ? { text: 'nothing more', source: lastSource(parts.program) }
      : {
          text: `${code.code.name || 'side-effect code'}(${structureToString(code.argStructure).slice(1, -1)})`,
          source: code.source,
        };
  return { problem: 'other side-effect code', first: sideOf(first), second: sideOf(second) };
}

/** The subject of a difference in control flow. */
const deciding = 'what decides between the two';

class ProgramComparison {
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
        const inside = new ProgramComparison(this.#sizes).compare(a.regions[i], b.regions[i], {
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
    if (!this.#sameAttributes(a.op.attributes, a.attributes, b.attributes)) {
      return 'an operator with other attributes';
    }
    const isTyped =
      a.types.length === b.types.length &&
      a.types.every((type, i) => this.#sameType(type, b.types[i], mayRename));
    if (!isTyped) return 'an operator with another result';
    return a.regions.length === b.regions.length ? null : 'an operator with other bodies';
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
    const key = known.key.replace(/[A-Za-z_]\w*/g, (name) => this.#names.get(name) ?? name);
    if (key === b.key) return true;
    if (!maySettle) return false;
    const [form, other] = [known.key, b.key].map((each) => each.replace(/[A-Za-z_]\w*/g, '?'));
    const [names, others] = [known.key, b.key].map((each) => each.match(/[A-Za-z_]\w*/g) ?? []);
    const fits = (name: string, i: number): boolean =>
      (this.#names.get(name) ?? others[i]) === others[i];
    if (form !== other || !names.every(fits)) return false;
    names.forEach((name, i) => this.#names.set(name, others[i]));
    return true;
  }

  #sameAttributes(schema: AttributeSchema, a: Attributes, b: Attributes): boolean {
    if (a === b) return true;
    if (Object.keys(schema).every((name) => this.#sameValue(a[name], b[name]))) return true;
    const text = (attributes: Attributes): string =>
      JSON.stringify(encodeAttributes(schema, attributes));
    return text(a) === text(b);
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

/** Whether two values are the same result of nodes that correspond. */
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

function compareReads(first: GraphParts, second: GraphParts): Difference | null {
  const at = differentAt(first.reads, second.reads);
  if (at < 0) return null;
  const sideOf = ({ program, reads }: GraphParts): TraceSide => {
    const input = program.inputs[program.inputs.length - reads.length + at];
    return {
      text: describeOutside(reads[at]),
      source: (input && sourceOf(program, input.node)) ?? lastSource(program),
    };
  };
  return {
    problem: 'it reads another array',
    first: sideOf(first),
    second: sideOf(second),
    subject: 'the array; or keep one array and assign to it',
  };
}

function compareWrites(first: GraphParts, second: GraphParts): Difference | null {
  const at = differentAt(first.writes, second.writes);
  if (at < 0) return null;
  const sideOf = ({ program, writes }: GraphParts): TraceSide => ({
    text: describeOutside(writes[at]),
    source: describeOutput(program, program.outputs.length - writes.length + at).source,
  });
  return { problem: 'it writes another array', first: sideOf(first), second: sideOf(second) };
}

/** Compares what recordings see of the graphs, which operators need not show. */
function compareRecording(first: GraphParts, second: GraphParts): Difference | null {
  const sideOf = (parts: GraphParts, text: string): TraceSide => ({
    text,
    source: lastSource(parts.program),
  });
  const [records, recordsNow] = [first, second].map(({ isRecording }) => isRecording === true);
  if (records !== recordsNow) {
    const describe = (isRecording: boolean): string =>
      isRecording ? 'a result that was recorded' : 'no result that was recorded';
    return {
      problem: 'it records something else',
      first: sideOf(first, describe(records)),
      second: sideOf(second, describe(recordsNow)),
    };
  }
  const [before, now] = [first, second].map(({ touched }) => new Set(touched));
  const gone = [...before].find((holder) => !now.has(holder));
  const added = [...now].find((holder) => !before.has(holder));
  if (gone === undefined && added === undefined) return null;
  const textOf = (holder: Holder | undefined): string =>
    holder === undefined ? 'nothing more' : describeHolder(holder);
  return {
    problem: 'it records something else',
    first: sideOf(first, textOf(gone)),
    second: sideOf(second, textOf(added)),
  };
}

function differentAt(first: readonly ExternalRef[], second: readonly ExternalRef[]): number {
  for (let i = 0; i < Math.max(first.length, second.length); i++) {
    if (!sameOutside(first[i], second[i])) return i;
  }
  return -1;
}

function sameOutside(a: ExternalRef | undefined, b: ExternalRef | undefined): boolean {
  if (a === undefined || b === undefined || a.kind !== b.kind) return false;
  if (a.kind === 'random') return a.draws === (b as typeof a).draws;
  if (a.kind === 'gradient' && a.attach !== (b as typeof a).attach) return false;
  return a.of === (b as typeof a).of;
}

function compareResults(first: Trace, second: Trace): Difference | null {
  if (sameStructure(first.outputs, second.outputs)) return null;
  const [path, a, b] = differentParts(first.outputs, second.outputs, '');
  const sideOf = ({ segments }: Trace, part: TreeStructure): TraceSide => ({
    text: structureToString(part),
    source: lastSource(segments[segments.length - 1].parts.program),
  });
  return {
    problem: `the result differs${path === '' ? '' : ` at ${path}`}`,
    first: sideOf(first, a),
    second: sideOf(second, b),
  };
}

/** The innermost place in which two nestings differ. */
function differentParts(
  a: TreeStructure,
  b: TreeStructure,
  path: string,
): readonly [path: string, first: TreeStructure, second: TreeStructure] {
  const areAlike =
    (a.kind === 'list' && b.kind === 'list' && a.entries.length === b.entries.length) ||
    (a.kind === 'record' && b.kind === 'record' && a.keys.join('\0') === b.keys.join('\0'));
  if (areAlike && 'entries' in a && 'entries' in b) {
    const at = a.entries.findIndex((entry, i) => !sameStructure(entry, b.entries[i]));
    const key = a.kind === 'record' ? `.${a.keys[at]}` : `[${at}]`;
    if (at >= 0) return differentParts(a.entries[at], b.entries[at], path + key);
  }
  return [path, a, b];
}
