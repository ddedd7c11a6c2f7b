import type { BinaryExpr, BinaryOp, Scalar, UnaryOp } from '../../../loop/language/nodes.js';
import type { Instr } from '../encoding/instr.js';
import {
  i32Add,
  i32Const,
  i32Mul,
  i32Sub,
  instr,
  isFloatScalar,
  type Selector,
} from './selector.js';

/** Instruction selection for arithmetic on operands of one lane that are already instructions. */

export function scalarConst(s: Selector, scalar: Scalar, value: number | bigint): Instr {
  if (scalar === 'i32' || scalar === 'bool') return i32Const(s, Number(value));
  return instr(s, `${scalar}.const`, [], scalar === 'i64' ? BigInt(value) : Number(value));
}

/** Names of operations that are the same in the scalar and vector instruction sets. */
export function operationName(op: BinaryOp, scalar: Scalar): string {
  if (op === 'shr') return 'shr_s';
  if (op === 'shrU') return 'shr_u';
  return isFloatScalar(scalar) || !signedOperations.has(op) ? op : `${op}_s`;
}

const signedOperations: ReadonlySet<BinaryOp> = new Set([
  'div',
  'rem',
  'min',
  'max',
  'lt',
  'le',
  'gt',
  'ge',
]);

/** Register type of a scalar: a bool is 0 or 1 in an i32. */
const registerOf = (scalar: Scalar): Exclude<Scalar, 'bool'> =>
  scalar === 'bool' ? 'i32' : scalar;

/** A unary operation on a scalar. */
export function scalarUnary(s: Selector, op: UnaryOp, scalar: Scalar, x: Instr): Instr {
  if (isFloatScalar(scalar)) return instr(s, `${scalar}.${op}`, [x]);
  if (scalar === 'bool') return instr(s, 'i32.eqz', [x]);
  const zero = scalarConst(s, scalar, 0);
  switch (op) {
    case 'neg':
      return instr(s, `${scalar}.sub`, [zero, x]);
    case 'abs': {
      const negative = instr(s, `${scalar}.lt_s`, [x, zero]);
      return instr(s, 'select', [instr(s, `${scalar}.sub`, [zero, x]), x, negative]);
    }
    default:
      return instr(s, `${scalar}.xor`, [x, scalarConst(s, scalar, -1)]);
  }
}

/** The operation of `expr` on scalars: its own operands, or those given instead. */
export function scalarBinary(
  s: Selector,
  expr: BinaryExpr,
  operands: readonly Instr[] = [s.lower(expr.a), s.lower(expr.b)],
): Instr {
  const { op } = expr;
  const [a, b] = operands;
  const scalar = registerOf(expr.a.type.scalar);
  if (scalar === 'i32') {
    if (op === 'add') return i32Add(s, a, b);
    if (op === 'sub') return i32Sub(s, a, b);
    if (op === 'mul') return i32Mul(s, a, b);
    if (op === 'div' || op === 'rem')
      return s.pool.make(`i32.${op}_s`, [a, b], undefined, a.nonNegative && b.nonNegative);
  }
  if (!isFloatScalar(scalar) && (op === 'min' || op === 'max')) {
    const first = instr(s, `${scalar}.${op === 'min' ? 'lt_s' : 'gt_s'}`, [a, b]);
    return s.pool.make('select', [a, b, first], undefined, a.nonNegative && b.nonNegative);
  }
  return instr(s, `${scalar}.${operationName(op, scalar)}`, [a, b]);
}

/** A cast between two different scalar types. */
export function scalarCast(s: Selector, from: Scalar, to: Scalar, x: Instr): Instr {
  if (to === 'bool')
    return instr(s, `${registerOf(from)}.ne`, [x, scalarConst(s, from, from === 'i64' ? 0n : 0)]);
  const source = registerOf(from);
  if (source === to) return x;
  if (isFloatScalar(to)) {
    if (source === 'f32') return instr(s, 'f64.promote_f32', [x]);
    if (source === 'f64') return instr(s, 'f32.demote_f64', [x]);
    return instr(s, `${to}.convert_${source}_s`, [x]);
  }
  if (isFloatScalar(source)) return instr(s, `${to}.trunc_sat_${source}_s`, [x]);
  return instr(s, to === 'i32' ? 'i32.wrap_i64' : 'i64.extend_i32_s', [x]);
}
