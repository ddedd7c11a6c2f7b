import { type DType, kindOf } from '../../base/dtype.js';
import { DTypeError, GraphError } from '../../base/errors.js';
import type { Attributes } from '../../base/attributes/schema.js';
import type { InferContext } from '../../ir/operator.js';
import type { Tensor, TensorType } from '../../ir/types.js';
import type { Expr } from '../../loop/language/nodes.js';
import { type Conversion, operator, type OperatorFunction, type Sample } from '../declare/declare.js'; // prettier-ignore
import { inferElementwise } from '../declare/infer.js';
import type { OnSizes } from '../known/facets.js';
import type { Law } from '../declare/law.js';
import { elementwise, type PointContext } from '../declare/lowering.js';
import type { OnnxMapping } from '../declare/onnx.js';
import { sumTo } from '../reduction/sum.js';
import type { Binary, Unary } from '../signatures.js';

/** Common part of unary and binary elementwise declarations. */

/** Dtypes that an operator accepts, after conversion of its operands. */
export type Domain = 'any' | 'number' | 'integer' | 'integer or bool';

interface PointSpec {
  readonly name: string;
  /** Default `any`. */
  readonly domain?: Domain;
  /** Default `promote`. */
  readonly operands?: Conversion;
  /** The dtype of the result. Default: the operands'. */
  readonly result?: DType;
  /** Default: the form registered for `value`. */
  readonly onnx?: OnnxMapping;
  /** Default none. */
  readonly simplify?: readonly Law[];
  readonly samples: readonly Sample[];
}

interface UnarySpec extends PointSpec {
  value(x: Expr, context: PointContext<Attributes>): Expr;
  /**
   * The gradient of `x`, given that of the result `y`. `zero`: the derivative is zero wherever it exists, so
   * there is no gradient.
   */
  readonly gradient: 'none' | 'zero' | (<T extends Tensor>(g: T, x: T, y: T) => T);
}

/** The gradient of one operand, before the sum over broadcast axes. */
type Partial = 'zero' | (<T extends Tensor>(g: T, x: T, y: T, result: T) => T);

interface BinarySpec extends PointSpec {
  value(x: Expr, y: Expr, context: PointContext<Attributes>): Expr;
  readonly gradient: 'none' | readonly [Partial, Partial];
  /** Default none. */
  readonly onSizes?: OnSizes;
}

/** Declares `f(x)`. */
export function unaryOperator(spec: UnarySpec): OperatorFunction<Unary> {
  const { name, operands = 'promote', gradient, onnx, simplify = [], samples } = spec;
  return operator({
    name,
    family: 'elementwise',
    attributes: {},
    operands,
    call: (x) => ({ inputs: [x], attributes: {} }),
    infer: inferPoint(spec, 1),
    gradient:
      gradient === 'none'
        ? 'none'
        : ({ inputs: [x], outputs, grads: [g] }) => [
            // Lazy, since the result may have to be recomputed.
            gradient === 'zero' ? null : gradient(g!, x, gradient.length > 2 ? outputs[0] : x),
          ],
    lowering: elementwise<Attributes>(([x], context) => spec.value(x, context)),
    ...(onnx !== undefined && { onnx }),
    simplify,
    samples,
  });
}

/** Declares `f(x)` of floats; integers become float32. */
export function realFunction(spec: Omit<UnarySpec, 'operands'>): OperatorFunction<Unary> {
  return unaryOperator({ ...spec, operands: 'float' });
}

/** Declares `f(x, y)` with broadcasting. */
export function binaryOperator(spec: BinarySpec): OperatorFunction<Binary> {
  const { name, operands = 'promote', gradient, onnx, simplify = [], samples } = spec;
  return operator({
    name,
    family: 'elementwise',
    attributes: {},
    operands,
    call: (x, y) => ({ inputs: [x, y], attributes: {} }),
    infer: inferPoint(spec, 2),
    gradient:
      gradient === 'none'
        ? 'none'
        : ({ inputs, outputs, grads: [g], needs }) =>
            gradient.map((partial, i) => {
              if (partial === 'zero' || !needs[i]) return null;
              const result = partial.length > 3 ? outputs[0] : inputs[0];
              return sumTo(partial(g!, inputs[0], inputs[1], result), inputs[i].type.shape);
            }),
    lowering: elementwise<Attributes>(([x, y], context) => spec.value(x, y, context)),
    ...(spec.onSizes !== undefined && { onSizes: spec.onSizes }),
    ...(onnx !== undefined && { onnx }),
    simplify,
    samples,
  });
}

function inferPoint(
  spec: PointSpec,
  count: number,
): (context: InferContext) => readonly TensorType[] {
  const infer = inferElementwise(spec.name, spec.result);
  const { domain = 'any' } = spec;
  return (context) => {
    if (context.inputs.length !== count) {
      throw new GraphError('the number of operands is wrong', {
        op: spec.name,
        expected: String(count),
        actual: String(context.inputs.length),
      });
    }
    for (const { dtype } of context.inputs) checkDomain(spec.name, domain, dtype);
    return infer(context);
  };
}

/** Refuses a dtype outside an operator's domain. */
function checkDomain(op: string, domain: Domain, dtype: DType): void {
  const kind = kindOf(dtype);
  const accepted =
    domain === 'any' ||
    kind === 'int' ||
    (domain === 'number' && kind === 'float') ||
    (domain === 'integer or bool' && kind === 'bool');
  if (accepted) return;
  throw new DTypeError(`not defined for ${dtype}`, {
    op,
    expected: domain === 'number' ? 'a numeric dtype' : `an ${domain} dtype`,
    actual: dtype,
    advice: kind === 'bool' ? 'use the logical operators, or cast first' : 'cast first',
  });
}
