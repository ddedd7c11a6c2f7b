import { graphDirective } from '../../../base/directive.js';
import { InternalError, TraceError } from '../../../base/errors.js';
import { typeToString } from '../../../ir/program.js';
import * as operators from '../../../ops/index.js';
import { array } from '../../arrays/creation.js';
import { NDArray } from '../../core/ndarray.js';
import { placeOf } from './host.js';

/*
 * Numbers and booleans of the user's that captured branches and loops assignVariables are arrays of rank 0. To
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

type Arithmetic = (a: NDArray, b: NDArray) => NDArray;

/** JavaScript's remainder has the sign of the dividend. */
const remainder: Arithmetic = (a, b) => {
  const floored = operators.mod(a, b);
  const isOther = operators.notEqual(operators.less(a, 0), operators.less(b, 0));
  const isRest = operators.notEqual(floored, 0);
  return operators.where(operators.logicalAnd(isOther, isRest), operators.sub(floored, b), floored);
};

const arithmetic: Readonly<Record<string, Arithmetic>> = {
  '+': (a, b) => operators.add(a, b),
  '-': (a, b) => operators.sub(a, b),
  '*': (a, b) => operators.mul(a, b),
  '/': (a, b) => operators.div(a, b),
  '%': remainder,
  '**': (a, b) => operators.pow(a, b),
  '<': (a, b) => operators.less(a, b),
  '<=': (a, b) => operators.lessEqual(a, b),
  '>': (a, b) => operators.greater(a, b),
  '>=': (a, b) => operators.greaterEqual(a, b),
  '==': (a, b) => operators.equal(a, b),
  '===': (a, b) => operators.equal(a, b),
  '!=': (a, b) => operators.notEqual(a, b),
  '!==': (a, b) => operators.notEqual(a, b),
};

/** An operator of JavaScript on host values, or on numbers that are arrays. */
export function op(operator: string, a: unknown, b: unknown): unknown {
  if (isNumberArray(a) || isNumberArray(b)) {
    const [x, y] = [operand(a), operand(b)];
    if (x !== null && y !== null) {
      // A whole number to a negative power is a fraction.
      const isFraction = operator === '**' && x.dtype !== 'float32' && !(Number.isInteger(b) && (b as number) >= 0); // prettier-ignore
      return asNumber(arithmetic[operator](isFraction ? x.astype('float32') : x, y));
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
  throw new TraceError(`a number that a captured array decides is ${use}`, {
    op: graphDirective,
    expected: 'a number that is known while the code is captured',
    actual: typeToString(value.type),
    advice: adviceFor(use),
    ...placeOf(site),
  });
}

/** Functions of `Math` whose operators have other names. */
const operatorNames: Readonly<Record<string, string>> = { max: 'maximum', min: 'minimum' };

function adviceFor(use: string): string {
  const name = /^an argument of Math\.(.*)$/.exec(use)?.[1];
  if (name !== undefined) {
    const operator = operatorNames[name] ?? name;
    if (operator in operators) return `use the operator: kn.${operator}`;
  }
  if (use.startsWith('an operand of')) {
    return 'use arithmetic: kn.floor or kn.trunc in place of | 0, *, / and % by powers of 2 in place of shifts and masks';
  }
  return 'index an array with it, by take or slice, or compute with it';
}

/** `-value` and `+value`. */
export function unary(operator: '-' | '+', value: unknown): unknown {
  if (isNumberArray(value)) return operator === '-' ? asNumber(operators.neg(value)) : value;
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
