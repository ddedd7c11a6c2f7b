import { addDim, type Dim, DimExpr, mulDim, subDim } from '../../../base/dim/index.js';
import { graphDirective } from '../../../base/directive.js';
import { InternalError, TraceError } from '../../../base/errors.js';
import { typeToString } from '../../../ir/program.js';
import { array, arrayOfSize } from '../../arrays/creation.js';
import { mode } from '../../core/mode.js';
import type { NDArray } from '../../core/ndarray.js';
import { isSymbolic } from '../../dispatch/dynamic-sizes.js';
import { asNumber, byDTypes, isNumberArray } from '../../dispatch/number-arrays.js';
import { arithmetic, mathFunctions, numberFunctions, unaryArithmetic } from './arithmetic.js';
import { placeOf } from './host.js';
import { factsFrom, held, noteFacts, optionalOf, presence } from './optionals.js';

/* JavaScript's operators on host values, on arrays that stand for numbers and booleans, and on sizes. */

export { asNumber, isNumberArray };

/** A size that stays symbolic as a number that is an array; other values as they are. */
export function withoutSize(value: unknown): unknown {
  return isSymbolic(value) ? asNumber(arrayOfSize(value, 'int32')) : value;
}

/** True for a number of the host that stands for no size. */
export function isPlainNumber(value: unknown): value is number {
  return typeof value === 'number' && !isSymbolic(value);
}

/** Operators whose result on sizes is one, so that it can be an extent of arrays. */
const onSizes: Readonly<Record<string, (a: Dim, b: Dim) => Dim>> = { '+': addDim, '-': subDim, '*': mulDim }; // prettier-ignore

const isSize = (value: unknown): value is Dim => DimExpr.isOne(value) || Number.isSafeInteger(value); // prettier-ignore

/** The result of an operator on a size, if it is one. */
function sizeBy(operator: string, a: unknown, b: unknown): Dim | null {
  if (!(operator in onSizes && (isSymbolic(a) || isSymbolic(b)) && isSize(a) && isSize(b))) return null; // prettier-ignore
  const result = onSizes[operator](a, b);
  if (typeof result === 'number') mode.capture?.sizes.pinned.add(result);
  return result;
}

/** An operator of JavaScript on host values, or on numbers that are arrays. */
export function op(operator: string, left: unknown, right: unknown): unknown {
  // Numbers of the host, which is what most code calculates with.
  if (isPlainNumber(left) && isPlainNumber(right)) return native(operator, left, right);
  const compared = comparedWithEmpty(operator, left, right);
  if (compared !== null) return compared;
  const given = [held(left), held(right)] as const;
  const size = sizeBy(operator, ...given);
  if (size !== null) return size;
  const [a, b] = given.map(withoutSize);
  if (isNumberArray(a) || isNumberArray(b)) {
    const isBits = onBits.has(operator);
    const [x, y] = [operand(a, isBits), operand(b, isBits)];
    if (x !== null && y !== null) return asNumber(byDTypes(() => arithmetic[operator](x, y)));
  }
  return native(operator, ...given);
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
const onBits: ReadonlySet<string> = new Set('| & ^ << >> >>> Math.imul Math.clz32'.split(' '));

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

function unserved(
  use: string,
  site: string,
  type: NDArray['type'],
  advice = 'index an array with it, by take or slice, or compute with it',
): TraceError {
  return new TraceError(`a number that a captured array decides is ${use}`, {
    op: graphDirective,
    expected: 'a number that is known while the code is captured',
    actual: typeToString(type),
    advice,
    ...placeOf(site),
  });
}

/** A call of a function of `Math`. */
export function math(name: string, site: string, ...given: readonly unknown[]): unknown {
  const native = (Math as unknown as Record<string, HostFunction>)[name];
  return called({ name: `Math.${name}`, native, served: mathFunctions[name] }, site, given);
}

/** A call of `Number`, `Number.isInteger` and the like. */
export function numeric(name: string, site: string, ...given: readonly unknown[]): unknown {
  const [first, second] = name.split('.');
  const root = (globalThis as unknown as Record<string, Record<string, HostFunction>>)[first];
  const native = second === undefined ? (root as unknown as HostFunction) : root[second];
  return called({ name, native, served: numberFunctions[name] }, site, given);
}

type HostFunction = (...all: readonly unknown[]) => unknown;

interface NumberFunction {
  readonly name: string;
  readonly native: HostFunction;
  /** The function of arrays, if there is one. */
  readonly served: ((...values: NDArray[]) => NDArray) | undefined;
}

function called(
  { name, native, served }: NumberFunction,
  site: string,
  given: readonly unknown[],
): unknown {
  const values = given.map((value) => withoutSize(held(value, site)));
  const number = values.find(isNumberArray);
  if (number === undefined) return native(...values);
  const operands = values.map((value) => operand(value, onBits.has(name)));
  const arity = served?.length ?? 0;
  const isServed = served !== undefined && operands.length >= arity && !operands.includes(null);
  if (!isServed) throw unserved(`an argument of ${name}`, site, number.type);
  // A function of a number of arguments ignores further ones.
  const taken = (arity === 0 ? operands : operands.slice(0, arity)) as readonly NDArray[];
  return asNumber(byDTypes(() => served(...taken)));
}

/** `typeof value`. */
export function kind(value: unknown): string {
  if (isSymbolic(value)) return 'number';
  if (!isNumberArray(value)) return typeof value;
  return value.dtype === 'bool' ? 'boolean' : 'number';
}

/** A call of a method that a number which is an array does not have, or cannot be looked for by. */
export function hostMethod(
  object: unknown,
  name: string,
  site: string,
  ...given: readonly unknown[]
): unknown {
  const methods = object as Record<string, HostFunction>;
  if (isNumberArray(object) && !(name in object)) throw unserved(`written by ${name}`, site, object.type); // prettier-ignore
  const number = given.find(isNumberArray);
  const isSearched = Array.isArray(object) || object instanceof Map || object instanceof Set;
  if (number !== undefined && isSearched)
    throw unserved(`looked for by ${name}`, site, number.type);
  const [test, ...rest] = given;
  if (typeof test !== 'function' || !Array.isArray(object)) return methods[name](...given);
  const known = (...entry: readonly unknown[]): unknown => {
    const result = (test as HostFunction).apply(rest[0], [...entry]);
    if (isNumberArray(result)) throw unserved(`tested by ${name}`, site, result.type, loopAdvice);
    return result;
  };
  return methods[name](known, ...rest);
}

const loopAdvice = 'write a loop: for (const each of list) if (test) ...';

/** `-value`, `+value` and `~value`. */
export function unary(operator: '-' | '+' | '~', given: unknown): unknown {
  const value = withoutSize(held(given));
  if (isNumberArray(value)) return asNumber(byDTypes(() => unaryArithmetic[operator](value)));
  if (operator === '~') return ~(value as number);
  return operator === '-' ? -(value as number) : +(value as number);
}

/** The value of `++value` or `--value`. */
export function step(given: unknown, by: 1 | -1): unknown {
  const value = held(given);
  if (isNumberArray(value) || isSymbolic(value)) return op('+', value, by);
  let next = value as number;
  return by === 1 ? ++next : --next;
}

/** The value of `variable++` or `variable--`: what the variable was, as a number. */
export function before(given: unknown, by: 1 | -1, set: (next: unknown) => void): unknown {
  const value = held(given);
  if (isNumberArray(value) || isSymbolic(value)) {
    set(op('+', value, by));
    return value;
  }
  let next = value as number;
  const old = by === 1 ? next++ : next--;
  set(next);
  return old;
}
