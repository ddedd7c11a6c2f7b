import { InternalError } from '../../../base/errors.js';
import type { Expr } from '../../../loop/language/nodes.js';
import type { Instr } from '../encoding/instr.js';
import { linearStart } from './linear.js';
import { selectLoad } from './memory.js';
import { scalarBinary, scalarCast, scalarConst, scalarUnary } from './arithmetic.js';
import { i32Const, instr, laneOf, type Selector, vectorShapeOf } from './selector.js';

/** Instruction selection for expressions of one lane. */
export function selectScalar(s: Selector, expr: Expr): Instr {
  const { scalar } = expr.type;
  switch (expr.kind) {
    case 'const':
      return scalarConst(s, scalar, expr.value);
    case 'unary':
      return scalarUnary(s, expr.op, expr.x.type.scalar, s.lower(expr.x));
    case 'binary':
      return scalarBinary(s, expr);
    case 'select':
      return instr(s, 'select', [s.lower(expr.a), s.lower(expr.b), s.lower(expr.condition)]);
    case 'cast':
      return scalarCast(s, expr.x.type.scalar, scalar, s.lower(expr.x));
    case 'bitcast':
      return instr(s, `${scalar}.reinterpret_${expr.x.type.scalar}`, [s.lower(expr.x)]);
    case 'load':
      return selectLoad(s, expr);
    case 'extract':
      return extractLane(s, expr.x, expr.lane);
    default:
      throw new InternalError(`wasm: a ${expr.kind} of one lane`);
  }
}

function extractLane(s: Selector, x: Expr, lane: number): Instr {
  if (x.type.scalar === 'bool') {
    const { instr: mask, width } = s.mask(x);
    const position = width === 64 ? 2 * lane : lane; // every 32-bit part of a mask tells the same
    return instr(s, 'i32.and', [laneOf(s, 'i32x4', mask, position), i32Const(s, 1)]);
  }
  const linear = x.type.scalar === 'i32' ? s.linear(x) : null;
  if (linear !== null && typeof linear.stride === 'number')
    return linearStart(s, { ...linear, constant: (linear.constant + lane * linear.stride) | 0 });
  return laneOf(s, vectorShapeOf(x.type), s.lower(x), lane);
}
