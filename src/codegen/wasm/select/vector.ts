import { InternalError } from '../../../base/errors.js';
import type { Accumulation } from '../../../loop/language/accumulation.js';
import { comparedExtremumOf } from '../../../loop/language/compared-extremum.js';
import type {
  BinaryExpr,
  CastExpr,
  Const,
  Expr,
  ExprType,
  Ramp,
  Select,
  UnaryExpr,
} from '../../../loop/language/nodes.js';
import type { Instr } from '../encoding/instr.js';
import { maskToNumber, widenMask, widthFor } from './masks.js';
import { selectLoad, selectSplatLoad } from './memory.js';
import { linearStart } from './linear.js';
import { operationName, scalarBinary, scalarCast } from './arithmetic.js';
import {
  gatherLanes,
  i32Const,
  instr,
  isFloatScalar,
  laneOf,
  narrowLanes,
  type Selector,
  vectorShapeOf,
  splat,
  vectorConst,
} from './selector.js';

/** Instruction selection for vectors of numbers. */
export function selectVector(s: Selector, expr: Expr): Instr {
  switch (expr.kind) {
    case 'const':
      vectorShapeOf(expr.type);
      return vectorConst(s, expr.type.scalar, expr.value);
    case 'unary':
      return vectorUnary(s, expr);
    case 'binary':
      return vectorBinary(s, expr);
    case 'select':
      return vectorSelect(s, expr);
    case 'cast':
      return vectorCast(s, expr);
    case 'bitcast':
      return s.lower(expr.x);
    case 'load':
      return selectLoad(s, expr);
    case 'ramp':
      return rampValue(s, expr);
    case 'broadcast':
      return selectSplatLoad(s, expr.x) ?? splat(s, vectorShapeOf(expr.type), s.lower(expr.x));
    default:
      throw new InternalError(`wasm: a ${expr.kind} of several lanes`);
  }
}

function vectorUnary(s: Selector, { op, x, type }: UnaryExpr): Instr {
  if (op === 'not') return instr(s, 'v128.not', [s.lower(x)]);
  return instr(s, `${vectorShapeOf(type)}.${op}`, [s.lower(x)]);
}

function vectorBinary(s: Selector, expr: BinaryExpr): Instr {
  const { op, type } = expr;
  const shape = vectorShapeOf(type);
  const { scalar } = type;
  switch (op) {
    case 'and':
    case 'or':
    case 'xor':
      return instr(s, `v128.${op}`, [s.lower(expr.a), s.lower(expr.b)]);
    case 'shl':
    case 'shr':
    case 'shrU':
      return shift(s, expr);
    case 'div':
    case 'rem':
      return isFloatScalar(scalar)
        ? instr(s, `${shape}.${op}`, [s.lower(expr.a), s.lower(expr.b)])
        : laneByLane(s, expr);
    case 'min':
    case 'max':
      if (isFloatScalar(scalar)) return floatExtremum(s, expr);
      if (scalar === 'i64') {
        const [a, b] = [s.lower(expr.a), s.lower(expr.b)];
        const first = instr(s, `i64x2.${op === 'min' ? 'lt_s' : 'gt_s'}`, [a, b]);
        return instr(s, 'v128.bitselect', [a, b, first]);
      }
      return instr(s, `${shape}.${op}_s`, [s.lower(expr.a), s.lower(expr.b)]);
    default:
      return instr(s, `${shape}.${operationName(op, scalar)}`, [s.lower(expr.a), s.lower(expr.b)]);
  }
}

/** `sum + a * b`, rounded once where the engine has an instruction for that. */
export function vectorAccumulation(s: Selector, sum: Expr, { a, b }: Accumulation): Instr {
  return instr(
    s,
    `${vectorShapeOf(sum.type)}.relaxed_madd`,
    [a, b, sum].map((x) => s.lower(x)),
  );
}

/** A shift by one count for all lanes is an instruction; other counts go lane by lane. */
function shift(s: Selector, expr: BinaryExpr): Instr {
  const { a, b, op, type } = expr;
  const name = `${vectorShapeOf(type)}.${operationName(op, type.scalar)}`;
  if (b.kind === 'const')
    return instr(s, name, [s.lower(a), i32Const(s, Number(BigInt(b.value) & 63n))]);
  if (b.kind === 'broadcast') {
    const count = s.lower(b.x);
    const low = type.scalar === 'i64' ? instr(s, 'i32.wrap_i64', [count]) : count;
    return instr(s, name, [s.lower(a), low]);
  }
  return laneByLane(s, expr);
}

/**
 * Integer division and other operations that SIMD lacks, lane by lane. Lanes beyond the vector's own are
 * never touched.
 */
function laneByLane(s: Selector, expr: BinaryExpr): Instr {
  const shape = vectorShapeOf(expr.type);
  const index = expr.type.scalar === 'i32' ? s.linear(expr) : null;
  if (index?.stride === 0) return splat(s, shape, linearStart(s, index));
  const [a, b] = [s.lower(expr.a), s.lower(expr.b)];
  return gatherLanes(
    s,
    shape,
    Array.from({ length: expr.type.lanes }, (_, lane) =>
      scalarBinary(s, expr, [laneOf(s, shape, a, lane), laneOf(s, shape, b, lane)]),
    ),
  );
}

/**
 * Minimum and maximum that propagate NaN cost five to seven machine instructions. Against a constant
 * the two-instruction `pmax(x, c) = x < c ? c : x` is exact, unless both may be zeros whose sign decides;
 * for the commonest of those, `max(x, +0)`, adding +0 turns the one wrong result, -0, into +0.
 */
function floatExtremum(s: Selector, { op, a, b, type }: BinaryExpr): Instr {
  const shape = vectorShapeOf(type);
  const [x, c] = a.kind === 'const' ? [b, a] : [a, b];
  if (c.kind === 'const') {
    const quick = instr(s, `${shape}.p${op}`, [s.lower(x), s.lower(c)]);
    if (pseudoIsExact(op, c)) return quick;
    if (op === 'max' && Object.is(c.value, 0)) return instr(s, `${shape}.add`, [quick, s.lower(c)]);
  }
  return instr(s, `${shape}.${op}`, [s.lower(a), s.lower(b)]);
}

/** True when the result for equal x and c is right, which matters for zeros only: min wants -0, max +0. */
function pseudoIsExact(op: BinaryExpr['op'], { value }: Const): boolean {
  if (Number.isNaN(value)) return false;
  return value !== 0 || Object.is(value, -0) === (op === 'max');
}

function vectorSelect(s: Selector, expr: Select): Instr {
  const { condition, a, b, type } = expr;
  const extremum = comparedExtremumOf(expr);
  if (extremum !== null) {
    const operands = [s.lower(extremum.a), s.lower(extremum.b)];
    return instr(s, `${vectorShapeOf(type)}.p${extremum.op}`, operands);
  }
  const mask = widenMask(s, s.mask(condition), widthFor(type));
  if (isNoBits(b)) return instr(s, 'v128.and', [s.lower(a), mask]);
  if (isNoBits(a)) return instr(s, 'v128.andnot', [s.lower(b), mask]);
  return instr(s, 'v128.bitselect', [s.lower(a), s.lower(b), mask]);
}

/** True when all bits of a value are provably 0, which a mask alone can produce. */
function isNoBits(x: Expr): boolean {
  return x.kind === 'const' && (x.value === 0n || Object.is(x.value, 0));
}

function vectorCast(s: Selector, { x: operand, type }: CastExpr): Instr {
  const from = operand.type;
  if (from.scalar === 'bool') return maskToNumber(s, operand, type);
  const x = s.lower(operand);
  switch (`${from.scalar}->${type.scalar}`) {
    case 'i32->f32':
      return instr(s, 'f32x4.convert_i32x4_s', [x]);
    case 'f32->i32':
      return instr(s, 'i32x4.trunc_sat_f32x4_s', [x]);
  }
  vectorShapeOf(type); // from here on one side is 64 bits wide, so there are two lanes
  vectorShapeOf(from);
  switch (`${from.scalar}->${type.scalar}`) {
    case 'f32->f64':
      return instr(s, 'f64x2.promote_low_f32x4', [x]);
    case 'f64->f32':
      return instr(s, 'f32x4.demote_f64x2_zero', [x]);
    case 'i32->f64':
      return instr(s, 'f64x2.convert_low_i32x4_s', [x]);
    case 'f64->i32':
      return instr(s, 'i32x4.trunc_sat_f64x2_s_zero', [x]);
    case 'i32->i64':
      return instr(s, 'i64x2.extend_low_i32x4_s', [x]);
    case 'i64->i32':
      return narrowLanes(s, x);
    default:
      return castLaneByLane(s, from, type, x);
  }
}

/** Between i64 and the floats. */
function castLaneByLane(s: Selector, from: ExprType, to: ExprType, x: Instr): Instr {
  const lane = (at: number): Instr =>
    scalarCast(s, from.scalar, to.scalar, laneOf(s, vectorShapeOf(from), x, at));
  return gatherLanes(s, vectorShapeOf(to), [lane(0), lane(1)]);
}

/** A ramp as a value; as an index it never comes here (`linear.ts`). */
function rampValue(s: Selector, expr: Ramp): Instr {
  vectorShapeOf(expr.type);
  const linear = s.linear(expr)!;
  const steps = [0, 1, 2, 3];
  const start = splat(s, 'i32x4', linearStart(s, linear));
  const { stride } = linear;
  const numbers = (values: readonly number[]): Instr =>
    s.pool.make('v128.const', [], new Uint8Array(Int32Array.from(values).buffer));
  const offsets =
    typeof stride === 'number'
      ? numbers(steps.map((step) => Math.imul(step, stride)))
      : instr(s, 'i32x4.mul', [splat(s, 'i32x4', stride), numbers(steps)]);
  return instr(s, 'i32x4.add', [start, offsets]);
}
