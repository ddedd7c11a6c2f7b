import { InternalError } from '../../base/errors.js';
import type { BinaryOp, Scalar, UnaryOp } from '../../loop/language/nodes.js';

/*
 * The operations on one lane in C, as expressions of `a` and `b`. Integers wrap, so they are computed
 * unsigned; C leaves signed overflow, shifts by the width and saturation to nobody.
 */

type Integer = 'i32' | 'i64';

const unsignedTypes: Readonly<Record<Integer, string>> = { i32: 'uint32_t', i64: 'uint64_t' };
const signedTypes: Readonly<Record<Integer, string>> = { i32: 'int32_t', i64: 'int64_t' };

const infix: Readonly<Partial<Record<BinaryOp, string>>> = {
  add: '+', sub: '-', mul: '*', div: '/', rem: '%', and: '&', or: '|', xor: '^',
  eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=',
}; // prettier-ignore

/** The infix operator of C that has exactly the operation's meaning; null when there is none. */
export function infixOf(op: BinaryOp, scalar: Scalar): string | null {
  const isFloat = scalar === 'f32' || scalar === 'f64';
  switch (op) {
    case 'add':
    case 'sub':
    case 'mul':
      return isFloat ? infix[op]! : null;
    case 'div':
      return scalar === 'bool' ? null : infix[op]!;
    case 'rem':
    case 'and':
    case 'or':
    case 'xor':
      return isFloat ? null : infix[op]!;
    case 'eq':
    case 'ne':
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge':
      return infix[op]!;
    default:
      return null;
  }
}

/** A binary operation on one lane. */
export function binaryText(op: BinaryOp, scalar: Scalar): string {
  const own = infixOf(op, scalar);
  if (own !== null) return `a ${own} b`;
  if (scalar === 'i32' || scalar === 'i64') return integerText(op, scalar);
  if (scalar === 'f32' || scalar === 'f64') return extremumText(op, scalar);
  throw new InternalError(`no C for ${op} of ${scalar}`);
}

function integerText(op: BinaryOp, scalar: Integer): string {
  const [unsigned, signed] = [unsignedTypes[scalar], signedTypes[scalar]];
  const count = `(b & ${scalar === 'i32' ? 31 : 63})`;
  switch (op) {
    case 'add':
    case 'sub':
    case 'mul':
      return `(${signed})((${unsigned})a ${infix[op]!} (${unsigned})b)`;
    case 'min':
      return 'a < b ? a : b';
    case 'max':
      return 'a > b ? a : b';
    case 'shl':
      return `(${signed})((${unsigned})a << ${count})`;
    case 'shr':
      return `a < 0 ? ~(~a >> ${count}) : a >> ${count}`; // C leaves to the compiler what it shifts in
    case 'shrU':
      return `(${signed})((${unsigned})a >> ${count})`;
    default:
      throw new InternalError(`no C for ${op} of ${scalar}`);
  }
}

/** `min` or `max`: NaN if either is NaN, and -0 below +0. */
function extremumText(op: BinaryOp, scalar: 'f32' | 'f64'): string {
  if (op !== 'min' && op !== 'max') throw new InternalError(`no C for ${op} of ${scalar}`);
  const lesser = op === 'min' ? 'a' : 'b';
  const greater = op === 'min' ? 'b' : 'a';
  return `a != a || b != b ? a + b : a == b ? (signbit(a) ? ${lesser} : ${greater}) : a < b ? ${lesser} : ${greater}`;
}

/** A unary operation on one lane. */
export function unaryText(op: UnaryOp, scalar: Scalar): string {
  if (scalar === 'f32' || scalar === 'f64') {
    const suffix = scalar === 'f32' ? 'f' : '';
    const functions: Readonly<Partial<Record<UnaryOp, string>>> = {
      neg: '-a',
      abs: `fabs${suffix}(a)`,
      sqrt: `sqrt${suffix}(a)`,
      floor: `floor${suffix}(a)`,
      ceil: `ceil${suffix}(a)`,
      trunc: `trunc${suffix}(a)`,
      nearest: `nearbyint${suffix}(a)`,
    };
    const text = functions[op];
    if (text !== undefined) return text;
  } else if (scalar === 'bool') {
    if (op === 'not') return '1 - a';
  } else {
    const [unsigned, signed] = [unsignedTypes[scalar], signedTypes[scalar]];
    if (op === 'not') return '~a';
    if (op === 'neg') return `(${signed})(0 - (${unsigned})a)`;
    if (op === 'abs') return `a < 0 ? (${signed})(0 - (${unsigned})a) : a`;
  }
  throw new InternalError(`no C for ${op} of ${scalar}`);
}

const limits: Readonly<Record<Integer, { least: string; greatest: string; beyond: string }>> = {
  i32: { least: 'INT32_MIN', greatest: 'INT32_MAX', beyond: '2147483648.0' },
  i64: { least: 'INT64_MIN', greatest: 'INT64_MAX', beyond: '9223372036854775808.0' },
};

/** Conversion of one lane; floats saturate, and NaN becomes 0. */
export function castText(from: Scalar, to: Scalar): string {
  if (to === 'bool') return 'a != 0';
  if (to === 'f32') return '(float)a';
  if (to === 'f64') return '(double)a';
  if (from === 'f32' || from === 'f64') {
    const { least, greatest, beyond } = limits[to];
    return `a != a ? 0 : a >= ${beyond} ? ${greatest} : a < -${beyond} ? ${least} : (${signedTypes[to]})a`;
  }
  // i64 to i32 keeps the low bits.
  return from === 'i64' ? '(int32_t)(uint32_t)(uint64_t)a' : `(${signedTypes[to]})a`;
}

/** A constant. */
export function constantText(scalar: Scalar, value: number | bigint): string {
  switch (scalar) {
    case 'bool':
      return String(value);
    case 'i32':
      return Number(value) === -(2 ** 31) ? 'INT32_MIN' : String(value);
    case 'i64':
      return BigInt(value) === -(2n ** 63n) ? 'INT64_MIN' : `INT64_C(${value})`;
    case 'f32':
    case 'f64':
      return floatText(Number(value), scalar === 'f32' ? 'f' : '');
  }
}

function floatText(value: number, suffix: string): string {
  if (Number.isNaN(value)) return suffix === 'f' ? '(float)NAN' : '(double)NAN';
  if (!Number.isFinite(value)) return value < 0 ? '-INFINITY' : 'INFINITY';
  if (Object.is(value, -0)) return `-0.0${suffix}`;
  const digits = String(value);
  return `${/[.e]/.test(digits) ? digits : `${digits}.0`}${suffix}`;
}
