import { type Dim, isStatic, elementCount } from '../../base/dim/index.js';
import { allocate, type DType, isFloat } from '../../base/dtype.js';
import { readElement, writeElement } from '../../base/element.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { Program, Value } from '../../ir/program.js';
import type { ConstantData, Tensor, TensorType } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import type { Declaration } from '../declare/declare.js';
import {
  type Access,
  broadcastIndex,
  computeScalar,
  type PointContext,
  type PointLowering,
  type ReduceLowering,
} from '../declare/lowering.js';
import { declarationOf } from '../declare/facets.js';
import { settle } from '../elements.js';
import { ExtentParameters } from '../../loop/language/extents.js';
import type { KnownArray } from './facets.js';
import { sizeOfExpr } from './size.js';

/** Size limit of arrays whose elements are tracked. */
const mostElements = 256;

/** Depth limit of the search through calls. */
const deepest = 256;

/** One entry for each element in row-major order, null where it is unknown. Empty when all are unknown. */
export type KnownEntries = readonly (Dim | null)[];

const nothing: KnownEntries = [];

/** A call with one result. */
export interface MadeBy<T extends Tensor> {
  readonly declaration: Declaration;
  readonly attributes: Attributes;
  readonly operands: readonly T[];
}

/** Definition of an array: its elements, or the call whose only result it is; null when unknown. */
export type Making<T extends Tensor> = (tensor: T) => ConstantData | MadeBy<T> | null;

/**
 * Known elements of small integer arrays, above all of those that hold sizes: numbers, and sizes derived from
 * shapes by arithmetic. Found by evaluating the lowerings of operators on the known elements of their
 * operands, so that `reshape(x, concat([shapeOf(x).slice([0, 2]), [h, d]]))` has the sizes of `x`.
 */
export class KnownElements<T extends Tensor> {
  readonly #making: Making<T>;
  readonly #known: WeakMap<T, KnownEntries> = new WeakMap();
  readonly #extents: ExtentParameters = new ExtentParameters();

  constructor(making: Making<T>) {
    this.#making = making;
  }

  /** The known elements of an array. */
  of(tensor: T, depth: number = 0): KnownEntries {
    if (depth > deepest || smallShape(tensor.type) === null) return nothing;
    let known = this.#known.get(tensor);
    if (known === undefined) {
      const made = this.#making(tensor);
      known =
        made === null
          ? nothing
          : 'data' in made
            ? numbersOf(made)
            : this.ofResult(tensor.type, made, depth);
      this.#known.set(tensor, known);
    }
    return known;
  }

  /** All elements of an array; null when one is unknown. */
  all(tensor: T): readonly Dim[] | null {
    return complete(tensor.type, this.of(tensor));
  }

  /** Records the elements of an array that stands for one of another program. */
  learn(tensor: T, elements: readonly Dim[]): void {
    this.#known.set(tensor, elements);
  }

  /** The known elements of a call's result. */
  ofResult(type: TensorType, made: MadeBy<T>, depth: number = 0): KnownEntries {
    const shape = smallShape(type);
    if (shape === null) return nothing;
    const found = this.#find(type.dtype, shape, made, (operand) => this.of(operand, depth + 1));
    return found.some((element) => element !== null) ? found : nothing;
  }

  #find(
    dtype: DType,
    shape: readonly number[],
    made: MadeBy<T>,
    known: (operand: T) => KnownEntries,
  ): KnownEntries {
    const { declaration, attributes, operands } = made;
    const { lowering } = declaration;
    const mayTell =
      operands.length === 0 ||
      declaration.readsTypesOnly === true ||
      operands.some((each) => !each.type.shape.every(isStatic) || known(each).length > 0);
    if (!mayTell) return nothing;
    if (declaration.known !== undefined) {
      if (!operands.every(({ type }) => smallShape(type) !== null)) return nothing;
      return declaration.known({ inputs: operands.map((each) => arrayOf(each, known(each))), attributes }); // prettier-ignore
    }
    switch (lowering.kind) {
      case 'view':
        return known(operands[0]);
      case 'point':
        return this.#points(dtype, shape, made, lowering, known);
      case 'reduce':
        return shape.every((extent) => extent === 1)
          ? this.#fold(dtype, made, lowering, known)
          : nothing;
      default:
        return nothing;
    }
  }

  #points(
    dtype: DType,
    shape: readonly number[],
    { declaration, attributes, operands }: MadeBy<T>,
    lowering: PointLowering<Attributes>,
    known: (operand: T) => KnownEntries,
  ): KnownEntries {
    const inputs = operands.map((operand) => this.#access(operand, known));
    return indicesOf(shape).map((index) => {
      const context: PointContext<Attributes> = {
        attributes,
        inputs,
        inputTypes: operands.map(({ type }) => type),
        outputType: { dtype, shape: this.#extents.shape(shape) },
        index: index.map((at) => e.i32(at)),
        extent: (dim) => this.#extents.extent(dim),
      };
      const found = this.#size(settle(dtype, lowering.point(context)));
      if (found !== undefined || declaration.onSizes === undefined) return found ?? null;
      const sizes = inputs.map((input) => this.#size(input.at(broadcastIndex(input, context))));
      return sizes.includes(undefined) ? null : declaration.onSizes(sizes as readonly Dim[]);
    });
  }

  /** Reduction to one element, by iteration. */
  #fold(
    dtype: DType,
    { attributes, operands: [operand] }: MadeBy<T>,
    lowering: ReduceLowering<Attributes>,
    known: (operand: T) => KnownEntries,
  ): KnownEntries {
    const elements = known(operand);
    const { type } = operand;
    if (elements.length !== elementCount(type.shape)) return nothing;
    const context = {
      attributes,
      inputDType: type.dtype,
      outputDTypes: [dtype],
      count: e.i32(elements.length),
    };
    let state = lowering.initial(context);
    for (const [position, element] of elements.entries()) {
      if (element === null) return nothing;
      const next = lowering.step(state, this.#expr(type.dtype, element), e.i32(position), context);
      const sizes = next.map((part) => this.#size(part));
      if (sizes.includes(undefined)) return nothing;
      state = sizes.map((size, k) => this.#scalarOf(next[k].type.scalar, size!));
    }
    const [result] = lowering.finish(state, context);
    return [this.#size(settle(dtype, result)) ?? null];
  }

  /** Known elements as expressions; others are unknown. */
  #access(operand: T, known: (operand: T) => KnownEntries): Access {
    const { dtype, shape } = operand.type;
    return {
      dtype,
      shape: this.#extents.shape(shape),
      buffer: null,
      at: (index) => {
        const position = positionIn(
          shape,
          index.map((at) => this.#size(at)),
        );
        const element = position === null ? null : (known(operand)[position] ?? null);
        if (element === null) return e.variable('unknown', computeScalar(dtype));
        return this.#expr(dtype, element);
      },
    };
  }

  #expr(dtype: DType, element: Dim): Expr {
    return this.#scalarOf(computeScalar(dtype), element);
  }

  #scalarOf(scalar: Expr['type']['scalar'], element: Dim): Expr {
    if (isStatic(element)) return e.constant(scalar, scalar === 'i64' ? BigInt(element) : element);
    const extent = this.#extents.extent(element);
    return scalar === 'i32' ? extent : e.cast(scalar, extent);
  }

  #size(expr: Expr): Dim | undefined {
    return sizeOfExpr(expr, (variable) => this.#extents.dim(variable));
  }
}

const knownOfPrograms: WeakMap<Program, KnownElements<Value>> = new WeakMap();

/** The known elements of a program that may still grow. */
export function knownElementsOf(program: Program): KnownElements<Value> {
  let known = knownOfPrograms.get(program);
  if (known === undefined) knownOfPrograms.set(program, (known = new KnownElements(makingOfValue)));
  return known;
}

/** Definitions of program values. */
const makingOfValue: Making<Value> = ({ program, node: id }) => {
  const node = program.node(id);
  if (node.kind === 'constant') return node.data;
  if (node.kind !== 'call' || node.types.length !== 1 || node.regions.length > 0) return null;
  return {
    declaration: declarationOf(node.op),
    attributes: node.attributes,
    operands: program.operands(id),
  };
};

/** The shape of a small array of integers or booleans; null for others. */
function smallShape({ dtype, shape }: TensorType): readonly number[] | null {
  if (isFloat(dtype) || !shape.every(isStatic)) return null;
  return Number(elementCount(shape)) <= mostElements ? shape : null;
}

/** The elements of an integer array, when all are known. */
export function complete(type: TensorType, elements: KnownEntries): readonly Dim[] | null {
  const shape = smallShape(type);
  const isComplete =
    shape !== null && elements.length === elementCount(shape) && !elements.includes(null);
  return isComplete ? (elements as readonly Dim[]) : null;
}

/** A constant of integers or booleans. */
export function constantOf({ dtype, shape }: TensorType, numbers: readonly number[]): ConstantData {
  const data = allocate(dtype, numbers.length);
  numbers.forEach((number, i) => {
    writeElement(dtype, data, i, dtype === 'int64' ? BigInt(number) : number);
  });
  return { type: { dtype, shape: shape as readonly number[] }, data };
}

function arrayOf({ type: { shape } }: Tensor, elements: KnownEntries): KnownArray {
  const count = Number(elementCount(shape));
  return {
    shape: shape as readonly number[],
    elements: elements.length === count ? elements : Array<null>(count).fill(null),
  };
}

/** Elements as numbers; unsafe integers are unknown. */
function numbersOf({ type: { dtype }, data }: ConstantData): KnownEntries {
  return Array.from({ length: data.length }, (_, i) => {
    const number = Number(readElement(dtype, data, i));
    return Number.isSafeInteger(number) ? number : null;
  });
}

/** Every index of a shape in row-major order. */
function indicesOf(shape: readonly number[]): readonly (readonly number[])[] {
  return shape.reduce<readonly (readonly number[])[]>(
    (prefixes, extent) =>
      prefixes.flatMap((prefix) => Array.from({ length: extent }, (_, at) => [...prefix, at])),
    [[]],
  );
}

/** The row-major position of an index, when it and the shape are known. */
function positionIn(shape: readonly Dim[], index: readonly (Dim | undefined)[]): number | null {
  let position = 0;
  for (let axis = 0; axis < shape.length; axis++) {
    const [extent, at] = [shape[axis], index[axis]];
    if (!isStatic(extent) || at === undefined || !isStatic(at)) return null;
    position = position * extent + at;
  }
  return position;
}
