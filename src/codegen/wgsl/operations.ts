import { InternalError } from '../../base/errors.js';
import { exprType } from '../../loop/language/build.js';
import type { BinaryOp, ExprType, Scalar, UnaryOp } from '../../loop/language/nodes.js';
import type { ShaderFunctions } from './functions/helpers.js';
import { inAllLanes, wgslType } from './functions/types.js';

const infix: Readonly<Partial<Record<BinaryOp, string>>> = {
  add: '+', sub: '-', mul: '*', div: '/', rem: '%', and: '&', or: '|', xor: '^',
  eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=',
}; // prettier-ignore

const wrapped = (a: string, op: string, b: string): string => `(${a} ${op} ${b})`;

/** A binary operation on operands of a type. */
export function binaryWgsl(
  op: BinaryOp,
  { scalar, lanes }: ExprType,
  a: string,
  b: string,
  helpers: ShaderFunctions,
): string {
  const call = (name: string, ...args: readonly string[]): string =>
    `${helpers.use(name, lanes)}(${args.join(', ')})`;
  if (scalar === 'i64') {
    const isEqual = `all(${a} == ${b})`;
    switch (op) {
      case 'and':
      case 'or':
      case 'xor':
        return wrapped(a, infix[op]!, b);
      case 'eq':
        return isEqual;
      case 'ne':
        return `!${isEqual}`;
      case 'lt':
        return call('k_i64_lt', a, b);
      case 'gt':
        return call('k_i64_lt', b, a);
      case 'le':
        return `!${call('k_i64_lt', b, a)}`;
      case 'ge':
        return `!${call('k_i64_lt', a, b)}`;
      default:
        return call(`k_i64_${op}`, a, b);
    }
  }
  if (scalar === 'f64') {
    switch (op) {
      case 'ne':
        return `!${call('k_f64_eq', a, b)}`;
      case 'gt':
        return call('k_f64_lt', b, a);
      case 'le':
        return `(${call('k_f64_lt', a, b)} || ${call('k_f64_eq', a, b)})`;
      case 'ge':
        return `(${call('k_f64_lt', b, a)} || ${call('k_f64_eq', a, b)})`;
      default:
        return call(`k_f64_${op}`, a, b);
    }
  }
  if (scalar === 'f32') {
    if (op === 'min' || op === 'max') return call(`k_${op}`, a, b);
    if (op === 'ne') return call('k_ne', a, b);
  }
  if (scalar === 'bool' && op === 'xor') return wrapped(a, '!=', b);
  switch (op) {
    case 'min':
    case 'max':
      return `${op}(${a}, ${b})`;
    case 'shl':
      return wrapped(a, '<<', shiftCount(b, lanes));
    case 'shr':
      return wrapped(a, '>>', shiftCount(b, lanes));
    case 'shrU':
      return `bitcast<${wgslType('i32', lanes)}>(bitcast<${wgslType('u32', lanes)}>(${a}) >> ${shiftCount(b, lanes)})`;
    default:
      return wrapped(a, infix[op]!, b);
  }
}

function shiftCount(count: string, lanes: number): string {
  const constant = /^(?:vec4<i32>\()?\(?(-?\d+)i\)*$/.exec(count);
  if (constant !== null) return inAllLanes('u32', `${Number(constant[1]) & 31}u`, lanes);
  return `(${wgslType('u32', lanes)}(${count}) & ${inAllLanes('u32', '31u', lanes)})`;
}

export function unaryWgsl(
  op: UnaryOp,
  scalar: Scalar,
  x: string,
  helpers: ShaderFunctions,
): string {
  if (scalar === 'i64') {
    return op === 'not' ? `(~${x})` : `${helpers.use(`k_i64_${op}`)}(${x})`;
  }
  if (scalar === 'f64') return `${helpers.use(`k_f64_${op}`)}(${x})`;
  switch (op) {
    case 'neg':
      return `(-${x})`;
    case 'not':
      return scalar === 'bool' ? `(!${x})` : `(~${x})`;
    case 'nearest':
      return `round(${x})`;
    case 'abs':
    case 'sqrt':
    case 'floor':
    case 'ceil':
    case 'trunc':
      return `${op}(${x})`;
  }
}

export function castWgsl(
  { scalar: from, lanes }: ExprType,
  to: Scalar,
  x: string,
  helpers: ShaderFunctions,
): string {
  const all = (scalar: string, text: string): string => inAllLanes(scalar, text, lanes);
  if (to === 'bool') {
    if (from === 'i32') return `(${x} != ${all('i32', '0i')})`;
    if (from === 'i64') return `any(${x} != vec2<u32>(0u))`;
    if (from === 'f64') return `!${helpers.use('k_f64_zero')}(${x})`;
    const bits = `bitcast<${wgslType('u32', lanes)}>(${x})`;
    return `((${bits} & ${all('u32', '0x7fffffffu')}) != ${all('u32', '0u')})`;
  }
  if (from === 'bool') {
    if (to === 'f64') return `vec2<u32>(0u, select(0u, 0x3ff00000u, ${x}))`;
    return to === 'i64' ? `vec2<u32>(select(0u, 1u, ${x}), 0u)` : `${wgslType(to, lanes)}(${x})`;
  }
  if (from === 'f64' || to === 'f64') return `${helpers.use(`k_${from}_to_${to}`)}(${x})`;
  if (from === 'i64') {
    return to === 'i32' ? `bitcast<i32>(${x}.x)` : `${helpers.use('k_i64_to_f32')}(${x})`;
  }
  if (to === 'i64') return `${helpers.use(`k_${from}_to_i64`)}(${x})`;
  if (from === 'i32' && to === 'f32') return `${wgslType('f32', lanes)}(${x})`;
  if (from === 'f32' && to === 'i32') return `${helpers.use('k_f32_to_i32', lanes)}(${x})`;
  throw new InternalError(`no WGSL for a cast of ${from} to ${to}`);
}

const scratch = new DataView(new ArrayBuffer(8));

/** Bits of a float. */
export function bitsText(value: number): string {
  scratch.setFloat32(0, value);
  return `0x${scratch.getUint32(0).toString(16)}u`;
}

/** A constant; floats that are not finite, and -0, are made of bits, since WGSL has no literals of them. */
export function constantWgsl(
  { scalar, lanes }: ExprType,
  value: number | bigint,
  helpers: ShaderFunctions,
): string {
  if (lanes > 1) return inAllLanes(scalar, constantWgsl(exprType(scalar), value, helpers), lanes);
  switch (scalar) {
    case 'bool':
      return value === 0 ? 'false' : 'true';
    case 'i32':
      if (value === -(2 ** 31)) return 'i32(-2147483648)';
      return Number(value) < 0 ? `(${value}i)` : `${value}i`;
    case 'i64': {
      scratch.setBigInt64(0, BigInt(value));
      return `vec2<u32>(${scratch.getUint32(4)}u, ${scratch.getUint32(0)}u)`;
    }
    case 'f32': {
      const float = Number(value);
      if (!Number.isFinite(float) || Object.is(float, -0)) {
        return `${helpers.use('k_float')}(${bitsText(float)})`;
      }
      return float < 0 ? `(${float}f)` : `${float}f`;
    }
    case 'f64':
      scratch.setFloat64(0, Number(value));
      return `vec2<u32>(${scratch.getUint32(4)}u, ${scratch.getUint32(0)}u)`;
  }
}
