import { bindResults } from '../../ir/bind.js';
import { type Dim, isStatic, mulDim, substituteDim } from '../../base/dim/index.js';
import { inContext, TraceError } from '../../base/errors.js';
import { mapAttributeDims } from '../../base/attributes/schema.js';
import type { Attributes } from '../../base/attributes/schema.js';
import { isThrownByCheck } from '../../ops/control/check.js';
import type { ArrayType } from '../core/array-type.js';
import type { CapturedSizes } from '../capture/sizes.js';
import type { Capture } from '../core/capture.js';
import { currentTrace } from '../core/capture.js';
import { escaped } from './dispatch.js';
import { runChecked } from './run.js';
import { collectOrigins, type Origin, rootCallsWith } from '../core/history.js';
import { typeToString } from '../../ir/program.js';
import type { ArraySizes, NDArray } from '../core/ndarray.js';
import type { Storage } from '../../runtime/memory/storage.js';
import { tracedShape } from './traced-shape.js';

/**
 * Computes lazy arrays and their operands, each call once. The calls run one by one on the eager path, whose
 * kernels exist from other calls: reading a value never waits for the compilation of a graph. Compiled graphs
 * are made by `exportGraph` and `hybridize`.
 */
export function computeLazy(arrays: readonly NDArray[]): void {
  for (const array of arrays) refuseTraced(array);
  const isLazy = (array: NDArray): boolean => array.elements === null;
  const needed = collectOrigins(arrays, isLazy);
  const roots = rootCallsWith(needed).flatMap(({ results }) => results.filter(isLazy));
  const all = roots.length === 0 ? needed : collectOrigins([...arrays, ...roots], isLazy);
  for (const origin of all) {
    const { declaration, regions, operands } = origin;
    for (const operand of operands) refuseTraced(operand);
    try {
      const attributes = attributesWithSizes(origin);
      settle(origin, runChecked({ declaration, attributes, regions }, operands));
    } catch (error) {
      if (isThrownByCheck(error)) throw error;
      throw inContext(error, 'computing a lazy array failed', {
        op: declaration.name,
        source: origin.source,
      });
    }
  }
}

/**
 * Static sizes: in a trace those of its current inputs, to which it is specialized when they are read;
 * otherwise the array is computed.
 */
export function sizedType(array: NDArray): ArraySizes {
  const trace = currentTrace();
  return trace === null
    ? (array.computed().type as ArrayType)
    : new TracedSizes(array, trace.sizes);
}

/** The sizes of an array of traced code. */
class TracedSizes implements ArraySizes {
  readonly #array: NDArray;
  readonly #sizes: CapturedSizes<NDArray>;

  constructor(array: NDArray, sizes: CapturedSizes<NDArray>) {
    this.#array = array;
    this.#sizes = sizes;
  }

  get shape(): readonly number[] {
    const { shape } = this.#array.type;
    const known = shape.map((dim) =>
      this.#sizes.isDeclared(dim)
        ? sizeItself(this.#sizes.canonical(dim))
        : (this.#sizes.evaluate(dim) ?? NaN),
    );
    return tracedShape(shape, known, (dim) => this.#read(dim));
  }

  get size(): number {
    const { shape } = this.#array.type;
    // The product of symbolic sizes stays symbolic.
    return sizeItself(shape.map((dim): Dim => this.#read(dim)).reduce(mulDim, 1));
  }

  #read(dim: Dim): number {
    if (this.#sizes.isDeclared(dim)) return sizeItself(this.#sizes.handOut(dim));
    const size = this.#sizes.read(dim);
    if (size !== undefined) return size;
    const { origin, type } = this.#array;
    throw new TraceError('a size that only the data decides was read while tracing', {
      op: origin?.declaration.name ?? 'shape',
      expected: 'sizes that are known before the graph runs',
      actual: typeToString(type),
      advice: 'use shapeOf(x), which gives the sizes as an array',
    });
  }
}

/** A symbolic size typed as a number: operators accept it, and arithmetic on it throws. */
function sizeItself(dim: Dim): number {
  return dim as unknown as number;
}

/**
 * The elements for the user. Refused while code is captured: replays have other values, in outer arrays as
 * well. Constants of the code itself are readable.
 */
export function visibleElements(array: NDArray): Storage {
  if (currentTrace() === null || array.isConstant) return array.storage;
  refuseTraced(array);
  throw new TraceError('the value of an array from outside was read while code is being captured', {
    op: 'reading',
    expected: 'a use that does not depend on its value',
    actual: typeToString(array.type),
    advice:
      'the captured code is run again with other values: choose with where or cond, read before the call and pass a number, or make constants inside',
  });
}

/** Refuses values of a trace: the captured code is replayed with others. */
function refuseTraced(array: NDArray): void {
  if (array.elements !== null) return;
  const trace = currentTrace();
  if (trace?.owns(array) === true) {
    throw new TraceError('the value of an array was read while its code is being captured', {
      op: array.origin?.declaration.name ?? 'an input',
      expected: 'a use that does not depend on its value',
      actual: typeToString(array.type),
      advice:
        "choose with where or cond, repeat with whileLoop or foreach, convert the function ('use graph'), or return the array and read it after the call",
    });
  }
  if (array.origin === null || array.origin.capture?.kind === 'trace')
    throw escaped('reading', array);
}

/** Assigns results to the arrays of a lazy call, and records the sizes that became known. */
function settle(origin: Origin, computed: readonly NDArray[]): void {
  const types = origin.results.map(({ type }) => type);
  if (!types.every(({ shape }) => shape.every(isStatic))) {
    const { known } = origin.capture!.sizes;
    for (const [name, size] of bindResults(types, computed, origin.declaration.name, known)) {
      known.set(name, size);
    }
  }
  origin.results.forEach((array, i) => {
    array.type = computed[i].type;
    array.elements = computed[i].elements;
  });
}

/**
 * The attributes of a captured call with known sizes as numbers; `found` are sizes that its capture does not
 * know.
 */
export function attributesWithSizes(
  origin: Origin,
  found: ReadonlyMap<string, number> = none,
): Attributes {
  const { declaration, attributes, operands, sizedBy, capture } = origin;
  const captures = new Set<Capture | null | undefined>([
    capture,
    ...[...operands, ...sizedBy].map((array) => array.origin?.capture),
  ]);
  return mapAttributeDims(declaration.attributes, attributes, (dim) => {
    let known = dim;
    for (const each of captures) if (each) known = substituteDim(known, each.sizes.known);
    return substituteDim(known, found);
  });
}

const none: ReadonlyMap<string, number> = new Map();
