import { type Dim, isStatic } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import { readElement } from '../../base/element.js';
import {
  GraphError,
  InternalError,
  KaonError,
  ShapeError,
  UnsupportedError,
} from '../../base/errors.js';
import type { Program, Value } from '../../ir/program.js';
import type { ConstantData, Shape } from '../../ir/types.js';
import { mostAxes, sizesFromElements } from '../../ops/dynamic/extents.js';
import * as ops from '../../ops/index.js';
import type { AttributeList } from './attributes.js';
import type { ElementType } from './elements.js';
import type { Importer } from './importer.js';
import { type ImportedOperand, TensorOperand } from './operand.js';
import { damagedFile, importOp } from './place.js';
import type { GraphProto, NodeProto } from './proto/onnx_pb.js';
import type { ImportedRegion, NameScope } from './region.js';

/** Results of a rule: a value or an operand for each output, null for omitted outputs. */
export type Results = Value | ImportedOperand | readonly (Value | ImportedOperand | null)[];

/** The import rule of one ONNX operator. */
export interface ImportRule {
  readonly run: (node: ImportedNode) => Results;
  /** Accepts element types that Kaon lacks. */
  readonly foreign?: boolean;
}

/** A node being imported, as rules see it. */
export class ImportedNode {
  constructor(
    readonly importer: Importer,
    readonly scope: NameScope,
    readonly proto: NodeProto,
    /** The version of the operator's domain. */
    readonly version: number,
    /** The operands in order; null for omitted ones. */
    readonly inputs: readonly (ImportedOperand | null)[],
    readonly attributes: AttributeList,
    readonly place: string,
  ) {}

  get region(): ImportedRegion {
    return this.scope.region;
  }

  get program(): Program {
    return this.scope.region.program;
  }

  /** Name of the operator in messages. */
  get title(): string {
    return operatorTitle(this.proto, this.version);
  }

  has(index: number): boolean {
    return (this.inputs[index] ?? null) !== null;
  }

  /** True when an output is used. */
  wants(index: number): boolean {
    return (this.proto.output[index] ?? '') !== '';
  }

  operand(index: number): TensorOperand {
    const found = this.inputs[index] ?? null;
    if (found === null) throw damagedFile(`${this.place}: ${this.title} lacks input ${index}`);
    if (found.kind !== 'tensor') {
      throw damagedFile(
        `${this.place}: input ${index} of ${this.title} is no tensor`,
        'a tensor',
        found.kind,
      );
    }
    return found;
  }

  /** A required operand, as a value. */
  value(index: number): Value {
    return this.operand(index).valueIn(this.region);
  }

  optional(index: number): Value | null {
    return this.has(index) ? this.value(index) : null;
  }

  /** All operands, which are all required. */
  values(from: number = 0): readonly Value[] {
    return this.inputs.slice(from).map((_, i) => this.value(from + i));
  }

  element(index: number): ElementType {
    return this.operand(index).element;
  }

  shape(index: number): Shape {
    return this.operand(index).type.shape;
  }

  rank(index: number): number {
    return this.shape(index).length;
  }

  /** Refuses operands of other ranks; omitted ones are accepted. */
  expectRank(index: number, ...ranks: readonly number[]): void {
    if (!this.has(index) || ranks.includes(this.rank(index))) return;
    throw this.refuse(
      `input ${index} has another rank`,
      ranks.join(' or '),
      String(this.rank(index)),
    );
  }

  dtype(index: number): DType {
    return this.operand(index).type.dtype;
  }

  /** A value with the element type of an operand. */
  like(index: number, value: Value): TensorOperand {
    return TensorOperand.of(value, this.element(index));
  }

  /** Normalizes an axis from `-rank` to `rank - 1` to one from 0 on. */
  axis(axis: number, rank: number): number {
    if (axis < -rank || axis >= rank) {
      throw damagedFile(`${this.place}: axis ${axis} of ${this.title} does not exist`, `an axis of rank ${rank}`); // prettier-ignore
    }
    return axis < 0 ? axis + rank : axis;
  }

  /** The elements of an operand that must be static; constants are folded. */
  data(index: number): ConstantData {
    const data = this.dataIfKnown(index);
    if (data !== null) return data;
    throw this.unknown(index);
  }

  /** The elements of an operand; null when only a run decides them. */
  dataIfKnown(index: number): ConstantData | null {
    const operand = this.operand(index);
    return operand.data ?? this.importer.evaluated(operand.valueIn(this.region));
  }

  /** The error for an operand that must be static; names the inputs that decide it. */
  unknown(index: number, why?: string): UnsupportedError {
    const from = this.importer.inputsBehind(this.operand(index).valueIn(this.region));
    const names = from.map((name) => JSON.stringify(name)).join(', ');
    return new UnsupportedError(
      `${this.place}: ${this.title} needs the value of input ${index} before it runs${why === undefined ? '' : `: ${why}`}`,
      {
        op: importOp,
        expected: 'a constant, or sizes of the inputs',
        actual: 'a value that only a run computes',
        ...(names !== '' && { advice: `give the values of ${names} by the option inputs` }),
      },
    );
  }

  /** Static integers, or sizes of inputs. */
  dims(index: number): readonly Dim[] {
    const { known } = this.operand(index);
    if (known !== null) return known;
    return this.numbers(index);
  }

  /** Integers or sizes; null when only a run decides them. */
  dimsIfKnown(index: number): readonly Dim[] | null {
    const operand = this.operand(index);
    if (operand.known !== null) return operand.known;
    const data = this.dataIfKnown(index);
    return data === null ? null : Array.from(data.data as Iterable<number | bigint>, Number);
  }

  /** The elements of a vector as sizes; those that only a run decides are refused there if they are negative. */
  sizes(index: number): readonly Dim[] {
    this.expectRank(index, 1);
    const known = this.dimsIfKnown(index);
    if (known !== null) return known;
    return this.axesIn(index) === 0 ? [] : sizesFromElements(this.value(index));
  }

  /** The only element of an operand as a size. */
  size(index: number): Dim {
    const known = this.dimsIfKnown(index);
    if (known !== null) return known[0];
    return sizesFromElements(ops.cast(ops.reshape(this.value(index), [1]), 'int64'))[0];
  }

  /** Static numbers. */
  numbers(index: number): readonly number[] {
    const operand = this.operand(index);
    if (operand.known?.every(isStatic) === true) return operand.known;
    if (operand.known !== null) throw this.unknown(index);
    return constantNumbers(this.data(index));
  }

  /** One static number. */
  number(index: number): number {
    return this.numbers(index)[0];
  }

  /** Integers that are an attribute in older opsets and an operand in newer ones. */
  intsFrom<D>(attribute: string, index: number, otherwise: D): readonly number[] | D {
    if (this.has(index)) return this.numbers(index);
    return this.attributes.ints(attribute, otherwise);
  }

  /** Length of a vector whose elements only a run decides: one for each axis. */
  axesIn(index: number): number {
    this.expectRank(index, 1);
    const [count] = this.shape(index);
    if (!isStatic(count)) throw this.unsupported(`the length of input ${index} is not known`);
    if (count > mostAxes) throw this.refuse(`input ${index} is for too many axes`, `at most ${mostAxes}`, String(count)); // prettier-ignore
    return count;
  }

  /** A number as a constant of rank 0, of a dtype. */
  scalar(value: number, dtype: DType): Value {
    return this.filled([], value, dtype);
  }

  filled(shape: Shape, value: number, dtype: DType): Value {
    return this.program.append(ops.fill.declaration, [], { shape, value, dtype })[0];
  }

  /** `start, start + step, ...` */
  iota(length: Dim, dtype: DType = 'int64', start: number = 0, step: number = 1): Value {
    return this.program.append(ops.iota.declaration, [], { length, start, step, dtype })[0];
  }

  /** The indices along an axis of a shape, which broadcast with it. */
  indices(shape: Shape, axis: number, dtype: DType = 'int64'): Value {
    return ops.reshape(this.iota(shape[axis], dtype), alongAxis(shape[axis], axis, shape.length));
  }

  /** Imports a nested graph of the node on operands for its inputs; returns at least `outputs` results. */
  subgraph(
    graph: GraphProto,
    inputs: readonly ImportedOperand[],
    outputs: number,
    region?: ImportedRegion,
  ): readonly ImportedOperand[] {
    return this.importer.subgraph(graph, this.scope, inputs, outputs, region);
  }

  /** The graph's inputs that decide dynamic sizes of the operands. */
  inputsThatSize(): readonly string[] {
    const names = this.inputs.flatMap((input) => {
      if (
        input?.kind !== 'tensor' ||
        input.type.shape.every((dim) => this.importer.isDeclared(dim))
      ) {
        return [];
      }
      const isSize = ({ type }: Value): boolean => !isFloat(type.dtype);
      return this.importer.inputsBehind(input.valueIn(this.region), isSize);
    });
    return [...new Set(names)];
  }

  /** The error for sizes that must be static; names the inputs they come from. */
  unsized(what: string): UnsupportedError {
    const names = this.inputs.flatMap((input) =>
      input?.kind === 'tensor' ? this.importer.inputsBehind(input.valueIn(this.region)) : [],
    );
    const list = [...new Set(names)].map((name) => JSON.stringify(name)).join(', ');
    return new UnsupportedError(`${this.place}: ${this.title} is not available: ${what}`, {
      op: importOp,
      ...(list !== '' && { advice: `give the shapes of ${list} by the option inputs` }),
    });
  }

  /** The error for an unsupported form of this node. */
  unsupported(what: string, actual?: string): UnsupportedError {
    return new UnsupportedError(`${this.place}: ${this.title} is not available: ${what}`, {
      op: importOp,
      actual,
    });
  }

  refuse(problem: string, expected?: string, actual?: string): Error {
    return damagedFile(`${this.place}: ${this.title}: ${problem}`, expected, actual);
  }
}

/** The shape in which a vector lies along one axis of an array. */
export function alongAxis(length: Dim, axis: number, rank: number): Dim[] {
  return Array.from({ length: rank }, (_, k) => (k === axis ? length : 1));
}

/** Name of an operator in messages: `Resize (opset 19)`, with the domain if it is not ONNX's own. */
export function operatorTitle(
  { domain, opType }: Pick<NodeProto, 'domain' | 'opType'>,
  version: number,
): string {
  const home = domain === '' || domain === 'ai.onnx' ? '' : `${domain}.`;
  return `${home}${opType} (opset ${version})`;
}

/** The elements of a constant as numbers. */
export function constantNumbers({ type, data }: ConstantData): readonly number[] {
  return Array.from({ length: data.length }, (_, i) => Number(readElement(type.dtype, data, i)));
}

/** Adds the node to an error of an operator. */
export function inNode(error: unknown, node: ImportedNode): unknown {
  if (!(error instanceof KaonError) || error instanceof InternalError || error.op === importOp)
    return error;
  if (error instanceof UnsupportedError) return node.unsupported(`${error.op}: ${error.problem}`);
  const details = {
    op: importOp,
    expected: error.expected,
    actual: error.actual,
    cause: error,
  };
  const problem = `${node.place}: ${node.title}`;
  if (error instanceof ShapeError) {
    const names = node.inputsThatSize();
    if (names.length > 0) {
      // Only a run can tell whether such sizes fit, but a graph must know before.
      return new UnsupportedError(
        `${problem} needs sizes that only a run computes: ${error.op}: ${error.problem}`,
        {
          ...details,
          advice: `give the values of ${names.map((name) => JSON.stringify(name)).join(', ')} by the option inputs`,
        },
      );
    }
  }
  return new GraphError(
    `${problem} does not fit its operands: ${error.op}: ${error.problem}`,
    details,
  );
}
