import type { DType, HostArray } from '../../base/dtype.js';
import { readElement, widened } from '../../base/element.js';
import { ArgumentError, DTypeError, InternalError } from '../../base/errors.js';
import { checkOptions, flag, valueRule } from '../../base/attributes/options.js';
import { Tensor, type TensorType } from '../../ir/types.js';
import { mode } from './mode.js';
import { backendNamed } from '../../runtime/execution/backends.js';
import { Storage } from '../../runtime/memory/storage.js';
import type { GradReq } from '../capture/gradient-use.js';
import { type ArrayType, arrayType, staticType } from './array-type.js';
import { arrayToString, nestedList, type NestedList } from './display.js';
import type { Origin, Session } from './history.js';
import type { KeptGradient } from './kept-gradient.js';
import type { ArrayMethods } from './array-methods.js';
import type { ArrayData, Item } from './result-dtypes.js';

/** The sizes of an array as numbers. */
export type ArraySizes = Pick<ArrayType, 'shape' | 'size'>;

/** Functions of the rest of the front floor, which is built on arrays. */
export interface ArrayRuntime {
  /** Computes a lazy array and what it needs. */
  compute(array: NDArray): void;
  /** The elements for the user to see, which captured code must not depend on. */
  visible(array: NDArray): Storage;
  /** The sizes of an array with symbolic sizes, as numbers. */
  sizedType(array: NDArray): ArraySizes;
  backward(head: NDArray, headGrad: NDArray | undefined, options: BackwardOptions): void;
  attachGrad(array: NDArray, req: GradReq): void;
  gradOf(array: NDArray): NDArray | null;
  detach(array: NDArray): NDArray;
  assign(target: NDArray, value: NDArray): void;
  cast(array: NDArray, dtype: DType): NDArray;
  rows(array: NDArray): IterableIterator<NDArray>;
}

let runtime: ArrayRuntime | undefined;

export function installArrayRuntime(implementation: ArrayRuntime): void {
  runtime = implementation;
}

function installed(): ArrayRuntime {
  if (runtime === undefined) throw new InternalError('arrays were used before the front floor');
  return runtime;
}

/** Options of `backward`. */
export interface BackwardOptions {
  /** Keep what the pass needs, so that there can be another one. Default false. */
  readonly retainGraph?: boolean;
}

/** Key of a member that only types have. */
declare const dtypeOf: unique symbol;

// The methods derived from the operators; `install-methods.ts` puts them on the prototype.
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- that file and this type have one source
export interface NDArray<D extends DType = DType> extends ArrayMethods<D> {
  // Decides which arrays TypeScript lets stand for which: parameters of methods are compared both ways, so that
  // one of the two unions of dtypes has to hold the other. No other member may mention `D` but in `NDArray<...>`,
  // since it would then be compared in one direction only.
  [dtypeOf]?(dtype: D): void;
}

/**
 * An n-dimensional array. Made by `array`, `zeros` and their like, and by operators. It is a value: no
 * operator changes it, and `assign` is the one way to give it other elements.
 *
 * `D` is the dtype as far as it is known where the code is written, or the union of those that it may be. An
 * `NDArray` of which nothing is said may stand wherever an array of one dtype is wanted, and the other way round.
 */
// oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- as above
export class NDArray<D extends DType = DType> extends Tensor {
  /** @internal Shape and dtype; sizes that only the data decides are symbolic until it is computed. */
  type: TensorType;
  /** @internal Null while the array is lazy. Shared with views, so never written to unless pinned. */
  elements: Storage | null;
  /** @internal The call that makes or made it, where that still matters. */
  origin: Origin | null = null;
  /** @internal */
  gradient: KeptGradient | null = null;
  /** @internal The recording that used it last. */
  session: Session | null = null;
  /** @internal The last deferred call that reads it. */
  reader: Origin | null = null;
  /** @internal Plain data that captured code brought in: part of the graph, not an input of it. */
  isConstant = false;
  /** @internal A number that all calls share: it outlives them, so it must not remember who has read it. */
  isShared = false;

  /** @internal Use `array`, `zeros` and so on. */
  constructor(type: TensorType, elements: Storage | null) {
    super();
    this.type = type;
    this.elements = elements;
  }

  /** @internal */
  get storage(): Storage {
    return this.computed().elements!;
  }

  /**
   * @internal The elements for another array to hold as well: a copy of pinned ones, since those are
   * changed in place.
   */
  get held(): Storage {
    const { storage } = this;
    return storage.isPinned ? new Storage(this.dtype, storage.host.slice()) : storage;
  }

  /**
   * @internal Moves the elements into the device's memory, where programs read them in place and `assign`
   * overwrites them: for parameters and other state that lives long.
   */
  pin(): void {
    this.storage.pin();
  }

  /** The extents. Where only the data decides them, a lazy array is computed first. */
  get shape(): readonly number[] {
    return (staticType(this.type) ?? installed().sizedType(this)).shape;
  }

  /** The type of the elements. */
  get dtype(): DType {
    return this.type.dtype;
  }

  /** The number of axes. */
  get ndim(): number {
    return this.type.shape.length;
  }

  /** The number of elements. */
  get size(): number {
    return (staticType(this.type) ?? installed().sizedType(this)).size;
  }

  /** The name of the device that has the elements; that of a lazy array is known once it is computed. */
  get device(): string {
    return this.elements?.backend?.name ?? 'cpu';
  }

  /**
   * The array on a device: itself where it is there already, else a copy, which no gradient flows through.
   * @throws DeviceError when the device cannot hold it, or when the way back has to be waited for (see `cpu`).
   */
  to(device: string): NDArray {
    const backend = backendNamed(device, 'to');
    // Captured code has arrays where its inputs are, which is for each run to say.
    if (backend === null && this.elements === null && mode.capture !== null) return this;
    const storage = installed().visible(this);
    if (storage.backend === backend) return this;
    const onCpu = storage.backend === null ? storage : new Storage(this.dtype, storage.copy());
    return new NDArray(this.type, backend === null ? onCpu : onCpu.onBackend(backend));
  }

  /** The array on the CPU: itself where it is there already, else a copy, which no gradient flows through. */
  async cpu(): Promise<NDArray> {
    const storage = installed().visible(this);
    if (storage.backend === null) return this;
    const elements = await storage.read();
    // Only now is the size of every array known.
    return new NDArray(arrayType(this.dtype, this.shape), new Storage(this.dtype, elements));
  }

  /**
   * A copy of the elements in row-major order. int64 reads as bigints, bool as 0 and 1, and the 16-bit
   * floats as a `Float32Array` of their values.
   */
  dataSync<E extends DType>(this: NDArray<E>): ArrayData<E> {
    const { host } = installed().visible(this);
    // The dtype decides the kind of typed array.
    return (host instanceof Uint16Array ? widened(this.dtype, host) : host.slice()) as ArrayData<E>;
  }

  /** Like `dataSync`; the promise lets devices that cannot answer at once be read in the same way. */
  async data<E extends DType>(this: NDArray<E>): Promise<ArrayData<E>> {
    const elements = await installed().visible(this).read();
    // As in `dataSync`.
    return widened(this.dtype, elements) as ArrayData<E>;
  }

  /** The only element: a number, a bigint for int64, a boolean for bool. */
  item<E extends DType>(this: NDArray<E>): Item<E> {
    if (this.size !== 1) {
      throw new ArgumentError('the array does not have exactly one element', {
        op: 'item',
        expected: 'one element',
        actual: `${this.size}, in the shape [${this.shape.join(', ')}]`,
      });
    }
    // The dtype decides the kind of element.
    return readElement(this.dtype, installed().visible(this).host, 0) as Item<E>;
  }

  /** The elements as nested lists; a bare element for rank 0. */
  tolist<E extends DType>(this: NDArray<E>): NestedList<Item<E>> {
    const { host } = installed().visible(this);
    return nestedList(this.shape, (index) => readElement(this.dtype, host, index) as Item<E>); // as in `item`
  }

  /** NumPy's notation; the middle of a large array is left out. */
  override toString(): string {
    const { host } = installed().visible(this);
    return arrayToString(this.dtype, this.shape, (index) => readElement(this.dtype, host, index));
  }

  /** Template literals get the text; arithmetic on the object itself is refused, since it could only be wrong. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.toString();
    throw new ArgumentError('JavaScript operators do not work on arrays', {
      op: 'NDArray',
      expected: 'a method or function: x.add(y), x.mul(2), x.less(y)',
      actual: hint === 'number' ? 'an array as a number' : 'an array as an operand',
      advice:
        "for one element as a number use x.item(); in captured code choose with where or cond, or convert the function ('use graph')",
    });
  }

  /**
   * The rows along the first axis, as `for (const row of x)` takes them; they lack that axis.
   * @throws ShapeError for rank 0.
   */
  [Symbol.iterator](): IterableIterator<NDArray<D>> {
    // Rows have the dtype of the array.
    return installed().rows(this) as IterableIterator<NDArray<D>>;
  }

  /**
   * Nested lists for `JSON.stringify`, with numbers for int64; the dtype is not kept.
   * @throws DTypeError for an int64 beyond 2^53, which a number may not hold.
   */
  toJSON(): NestedList<number | boolean> {
    const { host } = installed().visible(this);
    return nestedList(this.shape, (index) => {
      const element = readElement(this.dtype, host, index);
      if (typeof element !== 'bigint') return element;
      const number = Number(element);
      if (Number.isSafeInteger(number)) return number;
      throw new DTypeError('an element is no number of JSON', {
        op: 'toJSON',
        expected: 'integers below 2^53',
        actual: String(element),
        advice: 'write the text of the elements: Array.from(x.dataSync(), String)',
      });
    });
  }

  /** The array with another dtype, converted like `cast`. */
  astype<To extends DType>(dtype: To): NDArray<To> {
    return installed().cast(this, dtype);
  }

  /**
   * Gives the array the elements of `value`, which must have the same shape and dtype: the one change in
   * place there is. Refused on arrays that are recorded, lazy, or captured by a graph still to be run.
   */
  assign(value: NDArray): void {
    installed().assign(this, value);
  }

  /** Starts to keep a gradient, zeros at first; attaching again resets it. */
  attachGrad(options: { readonly req?: GradReq } = {}): void {
    checkOptions<NonNullable<Parameters<NDArray['attachGrad']>[0]>>('attachGrad', options, {
      req: gradientRequest,
    });
    installed().attachGrad(this, options.req ?? 'write');
  }

  /** The gradient of the last backward pass; null where none is attached. */
  get grad(): NDArray<D> | null {
    return installed().gradOf(this);
  }

  /** The same elements as a constant: no gradient flows through. */
  detach(): NDArray<D> {
    return installed().detach(this);
  }

  /**
   * Computes the gradients of this array and leaves them on the arrays that have one attached. Starts
   * from `headGrad`, ones by default.
   */
  backward(headGrad?: NDArray, options: BackwardOptions = {}): void {
    checkOptions<BackwardOptions>('backward', options, { retainGraph: flag });
    installed().backward(this, headGrad, options);
  }

  /** @internal Itself, computed. */
  computed(): this {
    if (this.elements === null) installed().compute(this);
    return this;
  }
}

/** Whoever attaches gradients checks the value. */
const gradientRequest = valueRule(
  'a gradient request',
  (value): value is GradReq => value !== null,
);

// An object that was made from the prototype, or the prototype itself, passes for an array and has nothing in
// it. Whoever looks at its type first says so; real arrays have fields of these names.
for (const name of ['type', 'elements', 'origin', 'gradient']) {
  Object.defineProperty(NDArray.prototype, name, {
    get(): never {
      throw new ArgumentError(
        'this is the prototype of arrays, or was made from it, and no array',
        {
          op: 'NDArray',
          expected: 'an array of array(), zeros() and the like',
          actual: 'an object with the prototype of arrays',
        },
      );
    },
    configurable: true,
  });
}

/** A fresh array around elements. */
export function arrayOf(type: ArrayType, elements: HostArray): NDArray {
  return new NDArray(type, new Storage(type.dtype, elements));
}

declare module '../../ops/declare/declare.js' {
  interface Frontend {
    array: NDArray;
  }
}
