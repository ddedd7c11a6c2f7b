import { graphDirective } from '../../../base/directive.js';
import { InternalError, TraceError } from '../../../base/errors.js';
import { typeToString } from '../../../ir/program.js';
import { array } from '../../arrays/creation.js';
import { NDArray } from '../../core/ndarray.js';
import { arithmetic, mathFunctions, unaryArithmetic } from './arithmetic.js';
import { placeOf } from './host.js';
import { factsFrom, held, noteFacts, optionalOf, presence } from './optionals.js';

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
export function op(operator: string, left: unknown, right: unknown): unknown {
  const compared = comparedWithEmpty(operator, left, right);
  if (compared !== null) return compared;
  const [a, b] = [held(left), held(right)];
  if (isNumberArray(a) || isNumberArray(b)) {
    const isBits = onBits.has(operator);
    const [x, y] = [operand(a, isBits), operand(b, isBits)];
    if (x !== null && y !== null) return asNumber(arithmetic[operator](x, y));
  }
  return native(operator, a, b);
}

/** A comparison of a value that may be absent with null or undefined; null for others. */
function comparedWithEmpty(operator: string, left: unknown, right: unknown): unknown {
  if (!/^[!=]==?$/.test(operator)) return null;
  const [a, b] = [optionalOf(left), optionalOf(right)];
  const [optional, other] = a === undefined ? [b, left] : [a, right];
  if (optional === undefined || (other !== null && other !== undefined)) return null;
  const isNegated = operator.startsWith('!');
  if (operator.length === 3 && optional.empty === 'either') {
    throw new TraceError(`${optional.name} is null on one path and undefined on another one`, {
      op: graphDirective,
      expected: `${operator.slice(0, 2)}, which takes both for the same`,
      actual: operator,
      advice: 'give it one of both on every path',
    });
  }
  const present = operator.length === 3 && other !== optional.empty ? true : presence(a === undefined ? right : left); // prettier-ignore
  if (typeof present === 'boolean') return present === isNegated;
  if (isNegated) return present;
  const isAbsent: NDArray = present.logicalNot();
  noteFacts(isAbsent, { whenTrue: factsFrom(present, false), whenFalse: factsFrom(present, true) });
  return isAbsent;
}

/** Operators and functions that take 32 bits of their operands. */
const onBits: ReadonlySet<string> = new Set('| & ^ << >> >>> imul clz32'.split(' '));

/** A number as an array; null for what is none. `isBits`: only its bits matter. */
function operand(value: unknown, isBits: boolean): NDArray | null {
  if (isNumberArray(value)) return value;
  if (typeof value === 'boolean') return array(value, { dtype: 'bool' });
  if (typeof value !== 'number') return null;
  if (isBits) return array(value | 0, { dtype: 'int32' });
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
  given: unknown,
  site: string,
  use: string = 'an index or a part of a text',
): unknown {
  const value = held(given, site);
  if (!isNumberArray(value)) return value;
  throw unserved(use, site, value.type);
}

function unserved(use: string, site: string, type: NDArray['type']): TraceError {
  return new TraceError(`a number that a captured array decides is ${use}`, {
    op: graphDirective,
    expected: 'a number that is known while the code is captured',
    actual: typeToString(type),
    advice: 'index an array with it, by take or slice, or compute with it',
    ...placeOf(site),
  });
}

/** A call of a function of `Math`. */
export function math(name: string, site: string, ...given: readonly unknown[]): unknown {
  const values = given.map((value) => held(value, site));
  const { [name]: served } = mathFunctions;
  const number = values.find(isNumberArray);
  if (number !== undefined) {
    const operands = values.map((value) => operand(value, onBits.has(name)));
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
export function unary(operator: '-' | '+' | '~', given: unknown): unknown {
  const value = held(given);
  if (isNumberArray(value)) return asNumber(unaryArithmetic[operator](value));
  if (operator === '~') return ~(value as number);
  return operator === '-' ? -(value as number) : +(value as number);
}

/** The value of `++value` or `--value`. */
export function step(given: unknown, by: 1 | -1): unknown {
  const value = held(given);
  if (isNumberArray(value)) return op('+', value, by);
  let next = value as number;
  return by === 1 ? ++next : --next;
}

/** The value of `variable++` or `variable--`: what the variable was, as a number. */
export function before(given: unknown, by: 1 | -1, set: (next: unknown) => void): unknown {
  const value = held(given);
  if (isNumberArray(value)) {
    set(op('+', value, by));
    return value;
  }
  let next = value as number;
  const old = by === 1 ? next++ : next--;
  set(next);
  return old;
}
