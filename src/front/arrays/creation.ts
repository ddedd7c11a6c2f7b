import { checkAttributes } from '../../base/attributes/schema.js';
import { type Dim, DimExpr } from '../../base/dim/index.js';
import { allocate, bytesOf, type DType, isDType, isFloat, isWeak } from '../../base/dtype.js';
import { writeElement } from '../../base/element.js';
import { ArgumentError, DTypeError, ShapeError } from '../../base/errors.js';
import { describe } from '../../base/attributes/attribute.js';
import {
  checkArgument,
  checkOptions,
  finite,
  flag,
  integer,
  type OptionRules,
  valueRule,
} from '../../base/attributes/options.js';
import { describeHost, hostConstant, type HostValue } from '../../ir/host.js';
import {
  broadcastTo,
  copy,
  eye as eyeOperator,
  fill,
  identity,
  iota,
  stack,
} from '../../ops/index.js';
import { check } from '../../ops/control/check.js';
import { dimLike } from '../../ops/movement/fill.js';
import { checkShape } from '../../ops/declare/infer.js';
import { arrayType } from '../core/array-type.js';
import { mode } from '../core/mode.js';
import { isNumberArray } from '../dispatch/number-arrays.js';
import {
  arangeBetween,
  isSymbolic,
  type RangeEnd,
  shapeOfArgument,
} from '../dispatch/dynamic-sizes.js';
import { install } from './install.js';
import { arrayOf, NDArray } from '../core/ndarray.js';
import { onDefaultDevice } from '../devices/placing.js';
import type { DTypeOf } from '../core/result-dtypes.js';

install();

/** Options of `array`. */
export interface ArrayOptions<D extends DType = DType> {
  /** Default float32; bool for booleans, int64 for bigints, a typed array's own. */
  readonly dtype?: D;
  /** Another shape for the same number of elements. */
  readonly shape?: readonly number[];
}

/** Options of arrays of a given shape. */
export interface CreationOptions<D extends DType = DType> {
  /** Default float32. */
  readonly dtype?: D;
}

/** Dtypes have an error of their own, and so have shapes. */
const dtypeOption = valueRule('a dtype', (value): value is DType => value !== undefined);
const shapeOption = valueRule(
  'a shape',
  (value): value is readonly number[] => value !== undefined,
);

const creationRules: OptionRules<CreationOptions> = { dtype: dtypeOption };

/**
 * An array of given elements: a number, nested lists, a typed array (rank 1 unless `shape` is given), or
 * another array, which is copied. Sizes of captured code are numbers here.
 *
 * @throws ShapeError for ragged lists or a `shape` that does not fit; DTypeError for elements that the
 * dtype cannot hold.
 */
export function array<
  X extends HostValue | NDArray | DimExpr | readonly Dim[],
  D extends DType = DTypeOf<X>,
>(data: X, options: ArrayOptions<D> = {}): NDArray<D> {
  checkOptions<ArrayOptions>('array', options, { dtype: dtypeOption, shape: shapeOption });
  const { dtype, shape } = options;
  if (dtype !== undefined) checkDType('array', dtype);
  if (data instanceof NDArray) {
    // A number that captured code has as an array makes what a number makes.
    const isNumber: boolean = isNumberArray(data);
    const own = dtype ?? (isNumber && data.dtype !== 'bool' ? 'float32' : data.dtype);
    const same: NDArray = isNumber ? ofNumber(data, own) : data.astype(own);
    if (shape !== undefined) return same.reshape(shape);
    return mode.capture === null ? copy(same) : identity(same);
  }
  if (isSymbolic(data) || (mode.capture !== null && holdsCapturedNumber(data))) {
    const made =
      isSymbolic(data)
        ? arrayOfSize(data, dtype ?? 'float32')
        : stack<NDArray>(data.map((each) => array(each as HostValue, dtype === undefined ? {} : { dtype }))); // prettier-ignore
    return shape === undefined ? made : made.reshape(shape);
  }
  const elements = data as HostValue; // sizes are symbols in captured code only
  return constantArray('array', elements, dtype ?? defaultDType(elements), shape);
}

/** A size as an array, also one that is a number. */
export function arrayOfSize(size: Dim, dtype: DType): NDArray {
  return ofNumber(dimLike(fill<NDArray>([], 0, 'int64'), size), dtype);
}

/** A number that captured code has as an array, as one of a dtype. A run refuses what the dtype cannot hold. */
function ofNumber(value: NDArray, dtype: DType): NDArray {
  const same = value.astype(dtype);
  // A size, which is int64 here, has 32 bits at most.
  const isWider = dtype === value.dtype || (dtype === 'int64' && value.dtype === 'int32') || (dtype === 'int32' && value.dtype === 'int64'); // prettier-ignore
  if (isWider || isFloat(dtype) || dtype === 'bool' || value.dtype === 'bool') return same;
  const isSame = same.astype(value.dtype).equal(value);
  // float32 rounds the greatest integer up to what is beyond it.
  const limit = 2 ** (8 * bytesOf(dtype) - (dtype === 'uint8' ? 0 : 1));
  check(isSame.logicalAnd(value.less(limit)), `a number is not a value of ${dtype}`);
  return same;
}

/** True for a list with a number, at any depth, that captured code has as an array or a size. */
function holdsCapturedNumber(data: unknown): data is readonly unknown[] {
  const isCaptured = (each: unknown): boolean =>
    isSymbolic(each) || isNumberArray(each) || holdsCapturedNumber(each);
  return Array.isArray(data) && data.some(isCaptured);
}

function constantArray(
  op: string,
  data: HostValue,
  dtype: DType,
  shape?: readonly number[],
): NDArray {
  const { type, data: elements } = hostConstant(data, dtype, op);
  const extents = shape === undefined ? type.shape : fitted(shape, type.shape);
  const made = arrayOf(arrayType(type.dtype, extents), elements);
  made.isConstant = mode.capture !== null;
  return onDefaultDevice(made);
}

/** Numbers and lists of them are float32, booleans bool; typed arrays and bigints keep their dtype. */
function defaultDType(data: HostValue): DType {
  const { kind } = describeHost(data, 'array');
  if (!isWeak(kind)) return kind;
  return kind === 'weak-bool' ? 'bool' : 'float32';
}

function fitted(shape: readonly number[], from: readonly number[]): readonly number[] {
  checkShape('array', shape);
  const count = (extents: readonly number[]): number => extents.reduce((a, b) => a * b, 1);
  if (count(shape) !== count(from)) {
    throw new ShapeError('the data does not fill the shape', {
      op: 'array',
      expected: `${count(shape)} elements, for the shape [${shape.join(', ')}]`,
      actual: String(count(from)),
    });
  }
  return shape;
}

/** A shape as numbers and sizes, or as an integer array: in captured code, sizes that the data may decide. */
export type CreationShape = Dim | readonly Dim[] | NDArray;

/**
 * An array of zeros.
 * @throws ShapeError for a negative extent; ArgumentError for what is no shape at all.
 */
export function zeros<D extends DType = 'float32'>(
  shape: CreationShape,
  options: CreationOptions<D> = {},
): NDArray<D> {
  return filled('zeros', shape, 0, options);
}

/**
 * An array of ones.
 * @throws ShapeError for a negative extent; ArgumentError for what is no shape at all.
 */
export function ones<D extends DType = 'float32'>(
  shape: CreationShape,
  options: CreationOptions<D> = {},
): NDArray<D> {
  return filled('ones', shape, 1, options);
}

/**
 * An array with `value` everywhere: a number, a size of captured code or a boolean.
 * @throws DTypeError for a value that the dtype cannot hold.
 */
export function full<V extends number | boolean | DimExpr, D extends DType = DTypeOf<V>>(
  shape: CreationShape,
  value: V,
  options: CreationOptions<D> = {},
): NDArray<D> {
  checkOptions('full', options, creationRules);
  const isBoolean = typeof value === 'boolean' || (isNumberArray(value) && value.dtype === 'bool');
  const dtype = options.dtype ?? (isBoolean ? 'bool' : 'float32');
  checkDType('full', dtype);
  if (isNumberArray(value) || isSymbolic(value)) {
    return broadcastTo(array(value, { dtype }), shapeOfArgument(shape));
  }
  hostConstant(value, dtype, 'full'); // refuses what the dtype cannot hold
  return filled('full', shape, Number(value), { dtype });
}

function filled(
  op: string,
  extents: CreationShape,
  value: number,
  options: CreationOptions,
): NDArray {
  checkOptions(op, options, creationRules);
  const { dtype = 'float32' } = options;
  checkDType(op, dtype);
  const shape = shapeOfArgument(extents);
  checkAttributes(op, { shape: fill.declaration.attributes.shape }, { shape });
  if (mode.capture !== null || !isStaticShape(shape)) return fill(shape, value, dtype);
  // Eagerly no kernel is needed: the host fills memory as fast as anything.
  checkShape(op, shape);
  const type = arrayType(dtype, shape);
  const elements = allocate(dtype, type.size);
  if (value !== 0 && type.size > 0) {
    writeElement(dtype, elements, 0, value);
    (elements as Float32Array).fill(elements[0] as number); // one element type: the cast picks an overload
  }
  return onDefaultDevice(arrayOf(type, elements));
}

/**
 * `start, start + step, ...` below `stop`. `arange(stop)` starts at 0. Either end may be a size of captured
 * code or an array of one element; the length is then a size, too.
 * @throws ArgumentError when `step` is 0.
 */
export function arange<D extends DType = 'float32'>(
  stop: RangeEnd,
  options?: CreationOptions<D>,
): NDArray<D>;
export function arange<D extends DType = 'float32'>(
  start: RangeEnd,
  stop: RangeEnd,
  step?: number | CreationOptions<D>,
  options?: CreationOptions<D>,
): NDArray<D>;
export function arange(
  first: RangeEnd,
  second?: RangeEnd | CreationOptions,
  third?: number | CreationOptions,
  fourth?: CreationOptions,
): NDArray {
  const isRange = isRangeEnd(second);
  const [start, stop] = isRange ? [first, second] : [0, first];
  const [step, options] = readStep(isRange ? [third, fourth] : [second, third, fourth], isRange);
  const { dtype = 'float32' } = options;
  for (const end of [start, stop]) {
    if (isRangeEnd(end)) continue;
    throw new ArgumentError('this is not a bound of a range', {
      op: 'arange',
      expected: 'a number, a size, or an array of one element',
      actual: describe(end),
    });
  }
  if (typeof start !== 'number' || typeof stop !== 'number' || isSymbolic(start)) {
    if (step === 0 || !Number.isFinite(step)) throw noLength(start, stop, step);
    checkDType('arange', dtype);
    return arangeBetween(start, stop, step, dtype);
  }
  const length = step === 0 ? NaN : Math.max(0, Math.ceil((stop - start) / step));
  if (!Number.isSafeInteger(length)) throw noLength(start, stop, step);
  return onDefaultDevice(iota(length, { start, step, dtype }));
}

function isRangeEnd(value: unknown): value is RangeEnd {
  return typeof value === 'number' || value instanceof DimExpr || value instanceof NDArray;
}

/** The step and the options among the last arguments of `arange`. */
function readStep(
  given: readonly unknown[],
  mayHaveStep: boolean,
): readonly [step: number, options: CreationOptions] {
  const rest = [...given];
  while (rest.length > 0 && rest.at(-1) === undefined) rest.pop();
  const isStep = mayHaveStep && (rest.length === 2 || typeof rest[0] !== 'object');
  const step = isStep ? (rest.shift() ?? 1) : 1;
  if (typeof step !== 'number') {
    throw new ArgumentError('the step is not acceptable', {
      op: 'arange',
      expected: 'a number',
      actual: describe(step),
    });
  }
  const [options = {}, ...tooMany] = rest;
  if (tooMany.length > 0) {
    throw new ArgumentError('there are too many arguments', {
      op: 'arange',
      expected: 'arange(stop), or arange(start, stop, step), and options',
      actual: given.map(describe).join(', '),
    });
  }
  checkOptions('arange', options, creationRules);
  return [step, options];
}

function noLength(start: RangeEnd, stop: RangeEnd, step: number): ArgumentError {
  const [from, to] = [start, stop].map((end) => (end instanceof NDArray ? 'array' : String(end)));
  return new ArgumentError('the range has no length', {
    op: 'arange',
    expected: 'finite numbers, and a step other than 0',
    actual: `arange(${from}, ${to}, ${step})`,
  });
}

export interface LinspaceOptions<D extends DType = DType> extends CreationOptions<D> {
  /** Include `stop`. Default true. */
  readonly endpoint?: boolean;
}

/** `count` evenly spaced numbers from `start` to `stop`, both included unless `endpoint` is false. */
export function linspace<D extends DType = 'float32'>(
  start: number,
  stop: number,
  count: number = 50,
  options: LinspaceOptions<D> = {},
): NDArray<D> {
  checkOptions<LinspaceOptions>('linspace', options, { ...creationRules, endpoint: flag });
  checkArgument('linspace', 'start', start, finite);
  checkArgument('linspace', 'stop', stop, finite);
  const { dtype = 'float32', endpoint = true } = options;
  checkDType('linspace', dtype);
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new ArgumentError('not a number of points', {
      op: 'linspace',
      expected: 'an integer that is not negative',
      actual: describe(count),
    });
  }
  const gaps = endpoint ? count - 1 : count;
  const points = allocate('float64', count) as Float64Array;
  for (let i = 0; i < count; i++) {
    const isLast = endpoint && i === count - 1 && count > 1;
    const point = isLast ? stop : start + (gaps > 0 ? (i * (stop - start)) / gaps : 0);
    points[i] = isFloat(dtype) ? point : Math.trunc(point);
  }
  return constantArray('linspace', points, dtype);
}

export interface EyeOptions<D extends DType = DType> extends CreationOptions<D> {
  /** Offset of the diagonal. Default 0, the main one. */
  readonly k?: number;
}

/** A matrix with ones on a diagonal: the main one, or the `k`-th above it. */
export function eye<D extends DType = 'float32'>(
  rows: number,
  columns: number = rows,
  options: EyeOptions<D> = {},
): NDArray<D> {
  checkOptions<EyeOptions>(eyeOperator.declaration.name, options, { ...creationRules, k: integer });
  return onDefaultDevice(eyeOperator(rows, columns, options));
}

function isStaticShape(shape: readonly Dim[]): shape is readonly number[] {
  return shape.every((dim) => typeof dim !== 'object');
}

function checkDType(op: string, dtype: unknown): void {
  if (isDType(dtype)) return;
  throw new DTypeError('there is no such dtype', {
    op,
    expected: 'float32, float64, float16, bfloat16, int8, uint8, int32, int64 or bool',
    actual: describe(dtype),
  });
}
