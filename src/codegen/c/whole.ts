import type { BinaryOp, Scalar, UnaryOp } from '../../loop/language/nodes.js';
import { laneScalar, vectorType } from './types.js';

/*
 * Operations on whole vectors with the extensions of GCC and Clang, as bodies of functions of `a`, `b` and
 * `c`. Compilers seldom put lanes together again that were written one by one. Casts between vectors of one
 * size keep the bits; comparisons give lanes of 0 or -1 in integers as wide as what is compared.
 */

/** Type names that bodies use: vectors of integers as wide as the lanes, signed and unsigned. */
interface Types {
  readonly own: string;
  readonly int: string;
  readonly unsigned: string;
  /** Declaration of `unsigned`. */
  readonly declared: string;
  readonly bits: 32 | 64;
}

function typesOf(scalar: Scalar, lanes: number): Types {
  const held = laneScalar(scalar);
  const bits = held === 'f32' || held === 'i32' ? 32 : 64;
  const bytes = (lanes * bits) / 8;
  return {
    own: vectorType(held, lanes),
    int: vectorType(bits === 32 ? 'i32' : 'i64', lanes),
    unsigned: 'words',
    declared: `typedef uint${bits}_t words __attribute__((vector_size(${bytes})));`,
    bits,
  };
}

/** Integer scalar that a body needs besides the types of its operands. */
export function integerFor(scalar: Scalar): Scalar {
  const held = laneScalar(scalar);
  return held === 'f32' || held === 'i32' ? 'i32' : 'i64';
}

const isFloat = (scalar: Scalar): scalar is 'f32' | 'f64' => scalar === 'f32' || scalar === 'f64';

/** A unary operation on a vector; null when it is done lane by lane. */
export function vectorUnary(op: UnaryOp, scalar: Scalar, lanes: number): string | null {
  const { own, int, unsigned, declared, bits } = typesOf(scalar, lanes);
  const greatest = bits === 32 ? 'INT32_MAX' : 'INT64_MAX';
  const least = bits === 32 ? 'INT32_MIN' : 'INT64_MIN';
  if (scalar === 'bool') return op === 'not' ? 'return ~a;' : null;
  if (!isFloat(scalar)) {
    if (op === 'not') return 'return ~a;';
    if (op === 'neg') return `${declared} return (${own})(0 - (${unsigned})a);`;
    if (op !== 'abs') return null;
    return `${declared} const ${unsigned} m = (${unsigned})(a < 0); return (${own})(((${unsigned})a ^ m) - m);`;
  }
  const suffix = scalar === 'f32' ? 'f' : '';
  // Floats of at least this magnitude are integers; adding and subtracting it rounds smaller ones to even.
  const whole = `${scalar === 'f32' ? '8388608.0' : '4503599627370496.0'}${suffix}`;
  const one = `(${int})(${own}){${Array.from({ length: lanes }, () => `1.0${suffix}`).join(', ')}}`;
  const magnitude = `const ${own} m = (${own})((${int})a & ${greatest});`;
  const nearest = `${own} t = (m + ${whole}) - ${whole};`;
  const signed = `const ${int} s = m < ${whole}; return (${own})((s & (((${int})t & ${greatest}) | ((${int})a & ${least}))) | (~s & (${int})a));`;
  switch (op) {
    case 'neg':
      return 'return -a;';
    case 'abs':
      return `return (${own})((${int})a & ${greatest});`;
    case 'nearest':
      return `${magnitude} ${nearest} ${signed}`;
    case 'trunc':
      return `${magnitude} ${nearest} t -= (${own})((t > m) & ${one}); ${signed}`;
    case 'floor':
    case 'ceil': {
      const back = `t = (${own})((${int})t | ((${int})a & ${least}));`;
      const step =
        op === 'floor' ? `t -= (${own})((t > a) & ${one});` : `t += (${own})((t < a) & ${one});`;
      const s = `const ${int} s = m < ${whole};`;
      // Rounding a negative number up gives at most negative zero.
      const sign = op === 'ceil' ? ` | ((${int})a & ${least})` : '';
      return `${magnitude} ${nearest} ${back} ${step} ${s} return (${own})((s & ((${int})t${sign})) | (~s & (${int})a));`;
    }
    default:
      return null;
  }
}

/** A binary operation whose result has the operands' type; null when it is done lane by lane. */
export function vectorBinary(op: BinaryOp, scalar: Scalar, lanes: number): string | null {
  if (scalar === 'bool') return null;
  const { own, int, unsigned, declared, bits } = typesOf(scalar, lanes);
  if (isFloat(scalar)) {
    if (op !== 'min' && op !== 'max') return null;
    const [lesser, greater, equal] = op === 'min' ? ['a', 'b', '|'] : ['b', 'a', '&'];
    return (
      `const ${int} n = (a != a) | (b != b), e = a == b, l = a < b; ` +
      `const ${int} r = (e & ((${int})a ${equal} (${int})b)) | (~e & ((l & (${int})${lesser}) | (~l & (${int})${greater}))); ` +
      `return (${own})((n & (${int})(a + b)) | (~n & r));`
    );
  }
  const count = `((${unsigned})b & ${bits - 1})`;
  const symbols: Readonly<Partial<Record<BinaryOp, string>>> = { add: '+', sub: '-', mul: '*' };
  const symbol = symbols[op];
  if (symbol !== undefined)
    return `${declared} return (${own})((${unsigned})a ${symbol} (${unsigned})b);`;
  switch (op) {
    case 'min':
      return `const ${int} l = a < b; return (l & a) | (~l & b);`;
    case 'max':
      return `const ${int} l = a > b; return (l & a) | (~l & b);`;
    case 'shl':
      return `${declared} return (${own})((${unsigned})a << ${count});`;
    case 'shrU':
      return `${declared} return (${own})((${unsigned})a >> ${count});`;
    default:
      return null;
  }
}

/** A comparison of vectors, with result lanes of i32; `text` compares `a` and `b`. */
export function vectorComparison(text: string, scalar: Scalar, lanes: number): string {
  const masks = vectorType('i32', lanes);
  return integerFor(scalar) === 'i32'
    ? `return ${text};`
    : `return __builtin_convertvector(${text}, ${masks});`;
}

/** Selects lanes of `a` or `b` by `c`. */
export function vectorSelect(scalar: Scalar, lanes: number): string {
  const { own, int, bits } = typesOf(scalar, lanes);
  const mask = bits === 32 ? 'c' : `__builtin_convertvector(c, ${int})`;
  return `const ${int} m = ${mask}; return (${own})((m & (${int})a) | (~m & (${int})b));`;
}

/** A vector conversion; null when it is done lane by lane. */
export function vectorCast(from: Scalar, to: Scalar, lanes: number): string | null {
  const made = vectorType(to, lanes);
  if (to === 'bool') {
    return from === 'bool' ? 'return a;' : vectorComparison('a != 0', from, lanes);
  }
  if (from === 'bool') return `return __builtin_convertvector(-a, ${made});`;
  if (!isFloat(from) || isFloat(to)) return `return __builtin_convertvector(a, ${made});`;
  if (integerFor(from) !== integerFor(to)) return null;
  // Outside of the integer range C leaves the conversion undefined.
  const { own, int, bits } = typesOf(from, lanes);
  const limit = `${bits === 32 ? '2147483648.0f' : '9223372036854775808.0'}`;
  return (
    `const ${int} over = a >= ${limit}, under = a < -${limit}, fits = ~(over | under | (a != a)); ` +
    `const ${made} r = __builtin_convertvector((${own})((${int})a & fits), ${made}); ` +
    `return (r & fits) | (over & INT${bits}_MAX) | (under & INT${bits}_MIN);`
  );
}
