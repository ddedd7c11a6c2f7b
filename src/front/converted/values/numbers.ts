import { graphDirective } from '../../../base/directive.js';
import { InternalError, TraceError } from '../../../base/errors.js';
import { typeToString } from '../../../ir/program.js';
import { array } from '../../arrays/creation.js';
import { NDArray } from '../../core/ndarray.js';
import { arithmetic, mathFunctions, unaryArithmetic } from './arithmetic.js';
import { placeOf } from './host.js';

/*
 * Numbers and booleans of the user's that captured branches and loops assign are arrays of rank 0. To
 * TypeScript they are still numbers, so JavaScript's operators work on them.
 */

const numbers = new WeakSet<NDArray>();

/** Says that an array stands for a number or boolean of the user's. */
export function asNumber(value: NDArray): NDArray {
  numbers.add(value);
  return value;
}

/** True if a value is an array that stands for a number or boolean. */
export function isNumberArray(value: unknown): value is NDArray {
  return typeof value === 'object' && value instanceof NDArray && numbers.has(value);
}

/** An operator of JavaScript on host values, or on numbers that are arrays. */
export function op(operator: string, a: unknown, b: unknown, site: string = ''): unknown {
  if (isNumberArray(a) || isNumberArray(b)) {
    const [x, y] = [operand(a), operand(b)];
    if (x !== null && y !== null) {
      if (operator in arithmetic) return asNumber(arithmetic[operator](x, y));
      throw unserved(`an operand of ${operator}`, site, (isNumberArray(a) ? a : x).type);
    }
  }
  return native(operator, a, b);
}

/** A number as an array; null for what is none. */
function operand(value: unknown): NDArray | null {
  if (isNumberArray(value)) return value;
  if (typeof value === 'boolean') return array(value, { dtype: 'bool' });
  if (typeof value !== 'number') return null;
  return array(value, { dtype: isInt32(value) ? 'int32' : 'float32' });
}

export function isInt32(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 31 && !Object.is(value, -0);
}

/** The operator as JavaScript has it, on any two values. */
function native(operator: string, left: unknown, right: unknown): unknown {
  // JavaScript's operators take any values; TypeScript wants them to be numbers.
  const [a, b] = [left as number, right as number];
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    case '**':
      return a ** b;
    case '|':
      return a | b;
    case '&':
      return a & b;
    case '^':
      return a ^ b;
    case '<<':
      return a << b;
    case '>>':
      return a >> b;
    case '>>>':
      return a >>> b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    case '==':
      // oxlint-disable-next-line eqeqeq -- the user's own operator
      return a == b;
    case '!=':
      // oxlint-disable-next-line eqeqeq -- the user's own operator
      return a != b;
    case '===':
      return a === b;
    case '!==':
      return a !== b;
    default:
      throw new InternalError(`converted code has no operator ${operator}`);
  }
}

/** A value that only the host can use: an index of a list, or a part of a text. */
export function hostOnly(
  value: unknown,
  site: string,
  use: string = 'an index or a part of a text',
): unknown {
  if (!isNumberArray(value)) return value;
  throw unserved(use, site, value.type);
}

function unserved(use: string, site: string, type: NDArray['type']): TraceError {
  return new TraceError(`a number that a captured array decides is ${use}`, {
    op: graphDirective,
    expected: 'a number that is known while the code is captured',
    actual: typeToString(type),
    advice: use.startsWith('an operand of')
      ? 'use arithmetic: *, / and % by powers of 2 in place of shifts'
      : 'index an array with it, by take or slice, or compute with it',
    ...placeOf(site),
  });
}

/** A call of a function of `Math`. */
export function math(name: string, site: string, ...values: readonly unknown[]): unknown {
  const { [name]: served } = mathFunctions;
  const number = values.find(isNumberArray);
  if (number !== undefined) {
    const operands = values.map(operand);
    const arity = served?.length ?? 0;
    const isServed = served !== undefined && operands.length >= arity && !operands.includes(null);
    if (!isServed) throw unserved(`an argument of Math.${name}`, site, number.type);
    // A function of a number of arguments ignores further ones.
    const taken = (arity === 0 ? operands : operands.slice(0, arity)) as readonly NDArray[];
    return asNumber(served(...taken));
  }
  return (Math as unknown as Record<string, (...all: readonly unknown[]) => number>)[name](
    ...values,
  );
}

/** `-value`, `+value` and `~value`. */
export function unary(operator: '-' | '+' | '~', value: unknown): unknown {
  if (isNumberArray(value)) return asNumber(unaryArithmetic[operator](value));
  if (operator === '~') return ~(value as number);
  return operator === '-' ? -(value as number) : +(value as number);
}

/** The value of `++value` or `--value`. */
export function step(value: unknown, by: 1 | -1): unknown {
  if (isNumberArray(value)) return op('+', value, by);
  let next = value as number;
  return by === 1 ? ++next : --next;
}

/** The value of `variable++` or `variable--`: what the variable was, as a number. */
export function before(value: unknown, by: 1 | -1, set: (next: unknown) => void): unknown {
  if (isNumberArray(value)) {
    set(op('+', value, by));
    return value;
  }
  let next = value as number;
  const old = by === 1 ? next++ : next--;
  set(next);
  return old;
}
