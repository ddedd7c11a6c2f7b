import { isStatic } from '../../../base/dim/index.js';
import { isFloat } from '../../../base/dtype.js';
import type { Value } from '../../../ir/program.js';
import * as ops from '../../../ops/index.js';
import type { ImportedNode } from '../node.js';
import { rule, type ImportRules } from './rule.js';

/** Gemm: `alpha a b + beta c`, with either factor transposed; before opset 7 `c` may need `broadcast`. */
function general(node: ImportedNode): Value {
  const [a, b] = [node.value(0), node.value(1)];
  const alpha = node.attributes.float('alpha', 1);
  const beta = node.attributes.float('beta', 1);
  const left = node.attributes.flag('transA') ? ops.transpose(a) : a;
  const right = node.attributes.flag('transB') ? ops.transpose(b) : b;
  const product = ops.matmul(left, right);
  const { dtype } = product.type;
  const scaled = (x: Value, factor: number): Value => {
    if (factor === 1) return x;
    return isFloat(dtype) ? ops.mul(x, factor) : ops.cast(ops.mul(ops.cast(x, 'float64'), factor), dtype); // prettier-ignore
  };
  const c = node.optional(2);
  return c === null ? scaled(product, alpha) : ops.add(scaled(product, alpha), scaled(c, beta));
}

/** Determinants of square matrices by Laplace expansion; the work grows with the factorial of the size. */
function determinant(x: Value, node: ImportedNode): Value {
  const { shape } = x.type;
  const size = shape.at(-1);
  if (size === undefined || !isStatic(size) || shape.at(-2) !== size || size < 1 || size > 6) {
    throw node.unsupported('only of square matrices of 1 to 6 rows', shape.map(String).join(' x '));
  }
  const minor = (row: number, columns: readonly number[]): Value => {
    const [first] = columns;
    if (columns.length === 1) return ops.slice(x, '...', row, first);
    const terms = columns.map((column, k) => {
      const rest = minor(
        row + 1,
        columns.filter((each) => each !== column),
      );
      const term = ops.mul(ops.slice(x, '...', row, column), rest);
      return k % 2 === 0 ? term : ops.neg(term);
    });
    return terms.reduce((a, b) => ops.add(a, b));
  };
  return minor(
    0,
    Array.from({ length: size }, (_, column) => column),
  );
}

export const products: ImportRules = {
  MatMul: rule((node) => ops.matmul(node.value(0), node.value(1))),
  Gemm: rule(general),
  Einsum: rule((node) => {
    const equation = node.attributes.string('equation', '').replaceAll(' ', '');
    return ops.einsum(equation, ...node.values());
  }),
  Det: rule((node) => determinant(node.value(0), node)),
};
