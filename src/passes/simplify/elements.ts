import { isStatic, sizeOf } from '../../base/dim.js';
import { allocate, isFloat } from '../../base/dtype.js';
import { InternalError } from '../../base/errors.js';
import { readElement, writeElement } from '../../base/element.js';
import type { CallNode, Value } from '../../ir/program.js';
import type { ConstantData, Shape } from '../../ir/types.js';
import * as e from '../../loop/build.js';
import type { Const, Expr } from '../../loop/nodes.js';
import { ExprSimplifier } from '../../loop/simplify/expressions.js';
import { type Access, computeScalar } from '../../ops/lowering.js';
import { ravel } from '../../ops/loops.js';
import { declarationOf } from '../facets.js';
import { loadElement, settle, storageOf } from '../lower/elements.js';
import { Extents } from '../lower/extents.js';

/** Arrays of sizes and positions are shorter than this. */
const mostElements = 32;

/** One entry for each element in row-major order; null where it is not known. */
type Elements = readonly (Const | null)[];

/**
 * What is known of single elements of small arrays of integers, above all of those that hold sizes: of
 * the sizes of `[n, 3]` the second is known, and what is computed of it alone is, too. Found by running
 * the lowering of point operators on what is known of their operands.
 */
export class KnownElements {
  readonly #known: Map<Value, Elements> = new Map();
  /** Sizes are variables that it knows nothing of. */
  readonly #simplifier: ExprSimplifier = new ExprSimplifier(e.kernel('elements', [], e.block()));

  /**
   * The result of a call as a constant, when all of its elements are known; else what is known of it is
   * remembered for `result()`, the value that stands for it.
   */
  fold(node: CallNode, operands: readonly Value[], result: () => Value): ConstantData | null {
    const shape = smallShape(node);
    if (shape === null || !operands.some((operand) => this.#isOfUse(operand))) return null;
    const elements = this.#elements(node, operands, shape);
    if (elements.length === sizeOf(shape) && elements.every((element) => element !== null)) {
      const { dtype } = node.types[0];
      const data = allocate(dtype, elements.length);
      elements.forEach(({ value }, i) => writeElement(dtype, data, i, value));
      return { type: { dtype, shape }, data };
    }
    if (elements.some((element) => element !== null)) this.#known.set(result(), elements);
    return null;
  }

  /** Whether something of an operand, its sizes included, may be known while it is no constant. */
  #isOfUse(operand: Value): boolean {
    return this.#known.has(operand) || operand.type.shape.some((dim) => typeof dim !== 'number');
  }

  #elements(node: CallNode, operands: readonly Value[], shape: readonly number[]): Elements {
    const { lowering } = declarationOf(node.op);
    if (lowering.kind === 'view') return this.#of(operands[0]);
    if (lowering.kind !== 'point') throw new InternalError('no element of a kernel is known alone');
    const extents = new Extents();
    const [{ dtype }] = node.types;
    const inputs = operands.map((operand, i) => this.#access(operand, i, extents));
    const found = indicesOf(shape).map((index) =>
      settle(
        dtype,
        lowering.point({
          attributes: node.attributes,
          inputs,
          inputTypes: operands.map(({ type }) => type),
          outputType: { dtype, shape: extents.shape(shape) },
          index: index.map((at) => e.i32(at)),
          extent: (dim) => extents.extent(dim),
        }),
      ),
    );
    return found.map((expr) => this.#constant(expr));
  }

  /** Known elements as constants; the others as reads of memory, of which nothing is known. */
  #access(operand: Value, place: number, extents: Extents): Access {
    const known = this.#of(operand);
    const { dtype, shape } = operand.type;
    const sizes = extents.shape(shape);
    const memory = e.buffer(`x${place}`, storageOf(dtype));
    return {
      dtype,
      shape: sizes,
      buffer: null,
      at: (index) => {
        const position = positionIn(
          shape,
          index.map((at) => this.#constant(at)),
        );
        const element = position === null ? null : known[position];
        return element ?? loadElement(dtype, memory, ravel(index, sizes));
      },
    };
  }

  #constant(expr: Expr): Const | null {
    const simple = expr.kind === 'const' ? expr : this.#simplifier.simplify(expr);
    return simple.kind === 'const' ? simple : null;
  }

  #of(value: Value): Elements {
    const node = value.program.node(value.node);
    return node.kind === 'constant' ? elementsOf(node.data) : (this.#known.get(value) ?? []);
  }
}

/** The shape of a call's only result, when it is one of few integers or bools made element by element. */
function smallShape({ op, types, regions }: CallNode): readonly number[] | null {
  if (types.length !== 1 || regions.length > 0) return null;
  const [{ dtype, shape }] = types;
  const { kind } = declarationOf(op).lowering;
  if (isFloat(dtype) || (kind !== 'point' && kind !== 'view') || !shape.every(isStatic))
    return null;
  return Number(sizeOf(shape)) <= mostElements ? shape : null;
}

function elementsOf({ type: { dtype }, data }: ConstantData): Elements {
  if (data.length > mostElements) return [];
  const scalar = computeScalar(dtype);
  return Array.from({ length: data.length }, (_, i) => {
    const element = readElement(dtype, data, i);
    return e.constant(scalar, typeof element === 'boolean' ? Number(element) : element);
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
function positionIn(shape: Shape, index: readonly (Const | null)[]): number | null {
  let position = 0;
  for (let axis = 0; axis < shape.length; axis++) {
    const [extent, at] = [shape[axis], index[axis]];
    if (typeof extent !== 'number' || at === null) return null;
    position = position * extent + Number(at.value);
  }
  return position;
}
