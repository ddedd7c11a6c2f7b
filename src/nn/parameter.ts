import { describe } from '../base/attributes/attribute.js';
import type { DType } from '../base/dtype.js';
import { ArgumentError, ShapeError, TraceError } from '../base/errors.js';
import {
  callable,
  checkArgument,
  checkOptions,
  dtypeName,
  flag,
  oneOfValues,
  valueRule,
} from '../base/attributes/options.js';
import { guardByIdentity } from '../front/options/capturable.js';
import { isCapturing, outsideCapture } from '../front/core/capture.js';
import type { GradReq } from '../front/autograd/index.js';
import { array } from '../front/arrays/creation.js';
import { nameArray } from '../front/options/names.js';
import {
  type GeneratorState,
  generatorState,
  setGeneratorState,
} from '../front/dispatch/generator.js';
import { arrayType } from '../front/core/array-type.js';
import { NDArray } from '../front/core/ndarray.js';
import { hasShapeOnly, recipeOf, shapeOnly, withoutElements } from '../front/devices/shape-only.js';
import { fetchElements, moveToDevice, onDefaultDevice } from '../front/devices/placing.js';
import type { HostValue } from '../ir/host.js';
import { type Initializer, zeros } from './initializer.js';
import { drawFrom, drawsNothing, reserveStream } from './stream.js';

/** Options of a parameter. */
export interface ParameterOptions {
  /** Extents; null for those that the first call decides. */
  readonly shape: readonly (number | null)[];
  /** Default float32. */
  readonly dtype?: DType;
  /** Default zeros. */
  readonly init?: Initializer;
  /** `null` for state that is not trained, such as running statistics. Default `write`. */
  readonly gradReq?: GradReq;
}

/** Options of `initialize`. */
export interface InitializeOptions {
  /** Also reinitialize parameters that have a value. Default false. */
  readonly force?: boolean;
  /**
   * Give parameters elements. False for shapes alone: code that uses them is captured without their memory, and
   * `writeJob` has them drawn where the job runs. A later `initialize()` draws the same values here. Default true.
   */
  readonly materialize?: boolean;
}

/** @internal Initializes parameters: all of them, or none if one of them fails. */
export function initializeAll(parameters: readonly Parameter[], options: InitializeOptions): void {
  checkOptions<InitializeOptions>('initialize', options, {
    force: flag,
    materialize: flag,
  });
  const before = generatorState();
  let adopt: readonly (() => void)[];
  try {
    adopt = parameters.map((parameter) => parameter.prepare(options));
  } catch (error) {
    setGeneratorState(before);
    throw error;
  }
  for (const each of adopt) each();
}

/** Any value: wrong lists and extents are reported as shape errors. */
const anyShape = valueRule(
  'a shape',
  (value): value is ParameterOptions['shape'] => value !== undefined,
);

function isExtent(extent: unknown): boolean {
  return extent === null || (Number.isSafeInteger(extent) && (extent as number) >= 0);
}

const gradReqRule = oneOfValues('write', 'add', 'null');

const owners = new WeakMap<NDArray, Parameter>();

/** The parameter whose value an array is. */
export function parameterOf(array: NDArray): Parameter | undefined {
  return owners.get(array);
}

/**
 * An array owned by a block: trained by an optimizer, or state that the block keeps. Its value is the same
 * `NDArray` for life, so graphs that captured it see every assignment.
 */
export class Parameter {
  /** The dotted path from the block whose `parameters()` was called last. */
  name = '';
  /** Element type. */
  readonly dtype: DType;
  readonly #init: Initializer;
  #gradReq: GradReq;
  /** True while `initialize` asks for its shape alone. */
  #isShapeOnly = false;
  #shape: readonly (number | null)[];
  #value: NDArray | undefined;
  /** Device that it was moved to; null where it lives where new arrays do. */
  #device: string | null = null;
  /** Random stream of the initial value, reserved by `initialize()`. */
  #stream: GeneratorState | undefined;

  constructor(options: ParameterOptions) {
    checkOptions<ParameterOptions>('Parameter', options, {
      shape: anyShape,
      dtype: dtypeName,
      init: callable,
      gradReq: gradReqRule,
    });
    const { shape } = options;
    if (!Array.isArray(shape) || !Array.from(shape, isExtent).every(Boolean)) {
      throw new ShapeError('this is not a shape of a parameter', {
        op: 'Parameter',
        expected: 'a list of extents of 0 or more, or null where the first call decides',
        actual: describe(shape),
      });
    }
    this.#shape = [...(shape as ParameterOptions['shape'])];
    this.dtype = options.dtype ?? 'float32';
    this.#init = options.init ?? zeros;
    this.#gradReq = options.gradReq ?? 'write';
  }

  /** @internal The parameter whose value an array is, or a new one whose value it becomes. */
  static of(value: NDArray, gradReq: GradReq): Parameter {
    const owner = parameterOf(value);
    if (owner !== undefined) return owner;
    const made = new Parameter({
      shape: value.shape as readonly number[], // an array outside of captured code
      dtype: value.dtype,
      init: () => {
        throw new ArgumentError(`parameter ${made.name || '(unnamed)'} has no initializer`, {
          op: 'Parameter.initialize',
          expected: 'a parameter of a layer',
          actual: 'one whose value came with a graph',
          advice: 'read the graph again, or load the parameters of the block from a file',
        });
      },
      gradReq,
    });
    made.#adopt(value);
    return made;
  }

  /**
   * Treatment of its gradient by backward passes: `null` for state that is not trained, or for a parameter that
   * is frozen while the rest of a network is adapted. Setting it drops the gradient; captured code is captured
   * again.
   *
   * @throws ArgumentError for another value.
   * @throws TraceError in captured code.
   */
  get gradReq(): GradReq {
    return this.#gradReq;
  }

  set gradReq(req: GradReq) {
    checkArgument('Parameter', 'gradReq', req, gradReqRule);
    if (isCapturing()) {
      throw new TraceError('gradReq of a parameter is set in captured code', {
        op: 'Parameter',
        actual: this.name || '(unnamed)',
        advice: 'set it before the call: code that was captured is captured again',
      });
    }
    if (req === this.#gradReq) return;
    this.#gradReq = req;
    this.zeroGrad();
  }

  /** Extents; null for those that are not known yet. */
  get shape(): readonly (number | null)[] {
    return this.#shape;
  }

  /** @internal `[4, ?]`, for messages. */
  get shapeText(): string {
    return `[${this.#shape.map((extent) => extent ?? '?').join(', ')}]`;
  }

  /** True when it has a value. */
  get isInitialized(): boolean {
    return this.#value !== undefined;
  }

  /** The array. Throws before the parameter is initialized. */
  get value(): NDArray {
    if (this.#value === undefined) {
      throw new ArgumentError(`parameter ${this.name || '(unnamed)'} has no value yet`, {
        op: 'Parameter.value',
        expected: 'initialize() and, where sizes are unknown, one call of the block',
        actual: `shape ${this.shapeText}`,
      });
    }
    return this.#value;
  }

  /** The gradient of the last backward pass; null when none is kept. */
  get grad(): NDArray | null {
    return this.#value?.grad ?? null;
  }

  /** Fills in unknown extents; known ones must agree. */
  resolveShape(shape: readonly number[]): void {
    const fits =
      Array.isArray(shape) &&
      shape.length === this.#shape.length &&
      Array.from(shape, (extent) => extent !== null && isExtent(extent)).every(Boolean) &&
      shape.every((extent, axis) => (this.#shape[axis] ?? extent) === extent);
    if (!fits) {
      throw new ShapeError(`parameter ${this.name || '(unnamed)'} cannot take this shape`, {
        op: 'Parameter.resolveShape',
        expected: this.shapeText,
        actual: describe(shape),
      });
    }
    this.#shape = [...shape];
  }

  /**
   * Initializes the parameter, now or as soon as its extents are known; a no-op when it has a value. Unless
   * it is constant, that takes one draw of `kn.random`'s generator and derives the value from that draw
   * alone, so it does not depend on when the extents become known.
   */
  initialize(options: InitializeOptions = {}): void {
    initializeAll([this], options);
  }

  /** @internal Makes the initial value; the returned function assigns it. */
  prepare({ force: isAgain = false, materialize = true }: InitializeOptions): () => void {
    const hasElements = this.#value !== undefined && !hasShapeOnly(this.#value);
    if (hasElements && !isAgain) return () => undefined;
    const isNew = (this.#stream === undefined || isAgain) && !drawsNothing(this.#init);
    const stream = isNew ? reserveStream() : this.#stream;
    const fresh = materialize ? this.#makeValue(stream) : this.#shapeAlone(stream);
    return () => {
      this.#isShapeOnly = !materialize;
      this.#stream = stream;
      this.#take(fresh);
    };
  }

  /**
   * @internal Initializes the parameter if its extents are known. Without an earlier `initialize()`, it draws
   * from the generator's current state.
   */
  begin(): void {
    if (this.#value === undefined) this.#take(this.#initialValue());
  }

  #initialValue(): NDArray | undefined {
    return this.#isShapeOnly ? this.#shapeAlone(this.#stream) : this.#makeValue(this.#stream);
  }

  /** @internal Snapshot; the returned function restores it. */
  remember(): () => void {
    const [shape, value, stream] = [this.#shape, this.#value, this.#stream];
    const elements = value === undefined || hasShapeOnly(value) ? undefined : value.add(0);
    return () => {
      [this.#shape, this.#value, this.#stream] = [shape, value, stream];
      if (elements !== undefined) value?.assign(elements);
    };
  }

  /** @internal Restores the initial value, if there is one. */
  reset(): void {
    if (this.#value !== undefined) this.#take(this.#initialValue());
  }

  /** The initial value, drawn from the reserved stream if there is one; undefined while extents are unknown. */
  #makeValue(stream: GeneratorState | undefined): NDArray | undefined {
    const shape = this.#knownShape();
    if (shape === null) return undefined;
    const make = (): NDArray => this.#firstValue(shape);
    return stream === undefined ? outsideCapture(make) : drawFrom(stream, make);
  }

  /** The initial value as an array without elements. */
  #shapeAlone(stream: GeneratorState | undefined): NDArray | undefined {
    const shape = this.#knownShape();
    if (shape === null) return undefined;
    const make = (): NDArray => this.#firstValue(shape);
    return shapeOnly(arrayType(this.dtype, shape), { stream: stream ?? null, make });
  }

  /** The extents; null while some are unknown. */
  #knownShape(): readonly number[] | null {
    const shape = this.#shape.filter((extent) => extent !== null);
    return shape.length === this.#shape.length ? shape : null;
  }

  #take(fresh: NDArray | undefined): void {
    if (fresh === undefined) return;
    const recipe = recipeOf(fresh);
    if (this.#value === undefined) this.#adopt(fresh);
    else if (recipe !== undefined) withoutElements(this.#value, recipe);
    else this.#value.assign(fresh);
  }

  /** Result of the initializer, which may be a user's function. */
  #firstValue(shape: readonly number[]): NDArray {
    const made: unknown = this.#init(shape, this.dtype);
    const wanted = `${this.dtype}[${shape.join(', ')}]`;
    const isArray = made instanceof NDArray;
    if (isArray && `${made.dtype}[${made.shape.join(', ')}]` === wanted) return made;
    throw new ArgumentError(
      `the initializer of parameter ${this.name || '(unnamed)'} did not return a value`,
      {
        op: 'Parameter.initialize',
        expected: `an array ${wanted}`,
        actual: isArray ? `an array ${made.dtype}[${made.shape.join(', ')}]` : describe(made),
      },
    );
  }

  /**
   * Replaces the elements. In captured code this is an update of state, carried out once after each call;
   * elsewhere it may also initialize the parameter.
   */
  assign(value: NDArray | HostValue): void {
    const next = value instanceof NDArray ? value : array(value, { dtype: this.dtype });
    if (this.#value !== undefined) return this.#value.assign(next);
    if (isCapturing()) {
      throw new ArgumentError(
        `parameter ${this.name || '(unnamed)'} is initialized in captured code`,
        {
          op: 'Parameter.assign',
          expected: 'a parameter that has a value to be updated',
          actual: `shape ${this.shapeText}`,
          advice:
            'call initialize() and, where sizes are unknown, the block once before it is captured',
        },
      );
    }
    this.resolveShape(next.shape);
    this.#adopt(next.astype(this.dtype).add(0));
  }

  /** @internal Moves the value, or the one that it will get, to a device. */
  moveTo(device: string): void {
    this.#device = device;
    if (this.#value !== undefined) moveToDevice(this.#value, device);
  }

  /** @internal Moves the value to the CPU, from where it may have to be waited for. */
  async fetch(): Promise<void> {
    this.#device = 'cpu';
    if (this.#value !== undefined) await fetchElements(this.#value);
  }

  /** Sets the gradient to zeros. */
  zeroGrad(): void {
    this.#value?.attachGrad({ req: this.gradReq });
  }

  #adopt(value: NDArray): void {
    const hasElements = !hasShapeOnly(value);
    if (hasElements && this.#device !== null) moveToDevice(value, this.#device);
    else if (hasElements) onDefaultDevice(value);
    this.#value = value;
    owners.set(value, this);
    nameArray(value, () => this.name);
    outsideCapture(() => value.attachGrad({ req: this.gradReq }));
    if (hasElements) value.pin();
  }
}

// Guarded by identity: the array of a parameter is an input of graphs, and its name depends on the block that
// was asked.
guardByIdentity(Parameter);
