import { graphDirective } from '../../../base/directive.js';
import type { DType } from '../../../base/dtype.js';
import { TraceError } from '../../../base/errors.js';
import {
  flattenTree,
  sameStructure,
  type TreeStructure,
  unflattenTree,
} from '../../../base/attributes/tree.js';
import { sameShape } from '../../../base/dim/index.js';
import { typeToString } from '../../../ir/program.js';
import type { TensorType } from '../../../ir/types.js';
import { array } from '../../arrays/creation.js';
import { absentValues, isKnownSize } from '../../control/tracing.js';
import type { NDArray } from '../../core/ndarray.js';
import { isArray } from '../../graphs/signature.js';
import {
  isCollecting,
  isPlainTree,
  placesIn,
  rebuilt,
  standsFor,
  withoutProxies,
} from './containers.js';
import {
  type Agreement,
  differing,
  firstDifference,
  leafPlaces,
  otherDtype,
  otherShape,
} from './differences.js';
import { wantOptional, withOptionals } from './absence.js';
import { isRounded } from './arithmetic.js';
import { isSymbolic } from '../../dispatch/dynamic-sizes.js';
import { asNumber, isInt32, isNumberArray, isPlainNumber, withoutSize } from './numbers.js';
import { Retrace, type TraceFacts } from './trace-facts.js';

/*
 * Values of variables on their way through a branch or loop: their arrays go through the operator, numbers
 * as arrays of rank 0, and the rest must be the same on every path.
 */

/** A value with a name for errors. */
export interface Entry {
  readonly what: string;
  readonly value: unknown;
  /** A counter: every assignment in the source is by integer literals. */
  readonly isInteger: boolean;
}

/** The arrangement of arrays in a value. */
export interface PackedLayout {
  readonly what: string;
  /** Null for a value that is kept as it is. */
  readonly structure: TreeStructure | null;
  readonly value: unknown;
  readonly types: readonly TensorType[];
  /** True if the value is a number of the user's, given or as an array. */
  readonly isNumber: boolean;
  /** True if it was given as an integer of the host. */
  readonly isWhole?: boolean;
  /** Leaves of a list or object that stand for numbers of the user's. */
  readonly numbers: ReadonlySet<number>;
}

export interface Packed {
  readonly leaves: readonly NDArray[];
  readonly layouts: readonly PackedLayout[];
}

/** Takes values apart. */
export function pack(entries: readonly Entry[], facts: TraceFacts): Packed {
  const leaves: NDArray[] = [];
  const layouts = entries.map((entry): PackedLayout => {
    const { what } = entry;
    const given = withoutProxies(numberArray(entry, facts.dtypes.get(what)));
    const value = withNumbers(what, withOptionals(what, given, facts), facts);
    const flat = flattened(value);
    if (flat === null) {
      return { what, structure: null, value, types: [], isNumber: false, numbers: noNumbers };
    }
    leaves.push(...flat.leaves);
    return {
      what,
      structure: flat.structure,
      // A copy: the other path changes the object.
      value: unflattenTree(flat.structure, flat.leaves),
      types: flat.leaves.map(({ type }) => type),
      isNumber: isNumberArray(value),
      isWhole: typeof entry.value === 'number' && isInt32(entry.value),
      numbers: new Set(flat.leaves.flatMap((leaf, k) => (isNumberArray(leaf) ? [k] : []))),
    };
  });
  return { leaves, layouts };
}

export const noNumbers: ReadonlySet<number> = new Set();

/** A host number as an array, and a number that is one in the dtype that is facts. */
function numberArray({ what, value: given, isInteger }: Entry, dtype: DType | undefined): unknown {
  const value = withoutSize(given);
  const isBeyond = typeof value === 'number' && isInteger && Number.isInteger(value) && !isInt32(value) && !Object.is(value, -0); // prettier-ignore
  if (isBeyond || (isNumberArray(value) && isRounded(value))) throw beyondBits(what, value);
  if (typeof value === 'boolean') return asNumber(array(value, { dtype: dtype ?? 'bool' }));
  if (typeof value === 'number') {
    const own = isInteger && isInt32(value) ? 'int32' : 'float32';
    return asNumber(array(value, { dtype: dtype ?? own }));
  }
  if (isNumberArray(value) && dtype !== undefined && value.dtype !== dtype) {
    return asNumber(value.astype(dtype));
  }
  return value;
}

/** The error for an integer that the user's code keeps as such, and that has more bits than int32 or float32. */
function beyondBits(what: string, value: unknown): TraceError {
  return new TraceError(`${what} is an integer beyond 32 bits with a sign`, {
    op: graphDirective,
    expected: 'an integer from -(2 ** 31) to 2 ** 31 - 1',
    actual: typeof value === 'number' ? String(value) : 'a result of >>>, up to 2 ** 32 - 1',
    advice: 'keep it as such, value | 0, and write >>> 0 where it is used as a number',
  });
}

/** A list or object in which numbers that paths assign are arrays, as those of variables are. */
function withNumbers(what: string, value: unknown, facts: TraceFacts): unknown {
  if (typeof value !== 'object' || value === null || isArray(value) || !isPlainTree(value)) return value; // prettier-ignore
  if (![...facts.dtypes.keys()].some((key) => key.startsWith(what) && /^[.[]/.test(key.slice(what.length)))) return value; // prettier-ignore
  const entries = placesIn(value).map(([access, key]) => {
    const entry = (value as Record<string, unknown>)[key];
    const place = `${what}${access}`;
    const dtype = facts.dtypes.get(place);
    // A number among booleans makes numbers of them.
    if (dtype === 'bool' && typeof entry === 'number') want(place, 'float32', facts);
    const number = { what: place, value: standsFor(entry), isInteger: false };
    const own = dtype === undefined ? entry : numberArray(number, dtype);
    return [key, withNumbers(place, own, facts)] as const;
  });
  return Array.isArray(value) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries);
}

function want(place: string, dtype: DType, facts: TraceFacts): never {
  facts.dtypes.set(place, dtype);
  throw new Retrace();
}

/** Asks for arrays in place of the numbers of a list or object that differ between two paths. */
function wantNumbers(what: string, given: unknown, other: unknown, facts: TraceFacts): void {
  // Sizes are objects, which others stand for in trees.
  const [first, second] = [standsFor(given), standsFor(other)];
  const dtypes = [first, second].map(dtypeOfNumber);
  const [a, b] = dtypes;
  if (a !== null && b !== null) {
    const isKnown = Object.is(first, second) || (isNumberArray(first) && isNumberArray(second) && a === b); // prettier-ignore
    if (!isKnown) want(what, commonDType(a, b), facts);
    return;
  }
  // A number on one path and an array on the other: the number is an array, too.
  const array = a === null ? first : second;
  const isScalar = a !== b && (a === null || b === null) && isArray(array) && array.type.shape.length === 0 && canBecome(a ?? b!, array.dtype); // prettier-ignore
  if (isScalar && facts.dtypes.get(what) !== array.dtype) want(what, array.dtype, facts);
  const areTrees = [first, second].every((value) => typeof value === 'object' && value !== null && !isArray(value) && isPlainTree(value)); // prettier-ignore
  if (!areTrees) return;
  for (const [access, key] of placesIn(first as object)) {
    const [x, y] = [first, second].map((value) => (value as Record<string, unknown>)[key]);
    wantNumbers(`${what}${access}`, x, y, facts);
  }
}

/** True if a number of the user's may follow an array of another dtype: a truth value cannot hold one. */
function canBecome(number: DType, dtype: DType): boolean {
  return dtype !== 'bool' || number === 'bool';
}

/** The dtype of a number of the user's as an array; null for what is none. */
function dtypeOfNumber(value: unknown): DType | null {
  if (isSymbolic(value)) return 'int32';
  if (typeof value === 'number') return 'float32';
  if (typeof value === 'boolean') return 'bool';
  return isNumberArray(value) ? value.dtype : null;
}

/** The number of lists in a tree that collect rows. */
function standInsIn(structure: TreeStructure): number {
  if (structure.kind === 'static') {
    return isCollecting(standsFor(structure.value)) ? 1 : 0;
  }
  if (structure.kind === 'leaf') return 0;
  return structure.entries.reduce((sum, entry) => sum + standInsIn(entry), 0);
}

/** The arrays of a value; null where it has none, or is no tree. */
function flattened(
  value: unknown,
): { leaves: readonly NDArray[]; structure: TreeStructure } | null {
  if (typeof value !== 'object' || value === null) return null;
  try {
    const flat = flattenTree(value, isArray, graphDirective);
    return flat.leaves.length === 0 && !isPlainTree(value) ? null : flat;
  } catch {
    // An object of a class, a map and the like: it is kept by identity, and compared.
    return null;
  }
}

/**
 * Takes values apart that must be like others.
 * @throws TraceError, DTypeError, ShapeError or ArgumentError naming the value that is not; Retrace where a number of the
 * others can follow.
 */
export function packLike(
  entries: readonly Entry[],
  layouts: readonly PackedLayout[],
  facts: TraceFacts,
  agreement: Agreement,
): readonly NDArray[] {
  return entries.flatMap((entry, i) => leavesLike(entry, layouts[i], facts, agreement));
}

function leavesLike(
  entry: Entry,
  layout: PackedLayout,
  facts: TraceFacts,
  agreement: Agreement,
): readonly NDArray[] {
  const { what } = entry;
  const given = layout.isNumber && isHostNumber(entry.value) ? layout.types[0].dtype : undefined;
  const fits = given === undefined || fitsDType(entry.value, given);
  const own = withNumbers(
    what,
    withOptionals(
      what,
      withoutProxies(numberArray(entry, fits ? (given ?? facts.dtypes.get(what)) : undefined)),
      facts,
    ),
    facts,
  );
  if (layout.structure === null) {
    if (Object.is(own, layout.value)) return [];
    wantOptional(what, layout.value, own, facts);
    throw differing(what, [what, layout.value, own], agreement);
  }
  const alone = !layout.isNumber && isHostNumber(entry.value) && layout.types.length === 1;
  if (alone && !canBecome(dtypeOfNumber(entry.value)!, layout.types[0].dtype)) {
    throw otherDtype(what, layout.types[0].dtype, dtypeOfNumber(entry.value)!, agreement);
  }
  const value = alone ? array(Number(entry.value), { dtype: layout.types[0].dtype }) : own;
  const flat = flattened(value);
  if (flat === null || !sameStructure(flat.structure, layout.structure)) {
    // A list that has begun to collect rows was a tree when the values were first taken apart.
    if (flat !== null && standInsIn(flat.structure) > standInsIn(layout.structure)) {
      const name = `lists of ${what} that collect rows, ${standInsIn(flat.structure)}`;
      if (!facts.knows(name)) facts.learn(name);
    }
    wantOptional(what, layout.value, own, facts);
    wantNumbers(what, layout.value, own, facts);
    throw differing(what, firstDifference(what, layout.value, own), agreement);
  }
  return flat.leaves.map((leaf, k) => {
    const [type, expected] = [leaf.type, layout.types[k]];
    if (type.dtype !== expected.dtype) {
      // A size beside an integer of the host is one.
      if (layout.isWhole && isSymbolic(entry.value) && !facts.dtypes.has(what)) want(what, 'int32', facts); // prettier-ignore
      if (layout.numbers.has(k)) wantNumbers(what, layout.value, own, facts);
      if (layout.isNumber && type.shape.length === 0) {
        const dtype = isNumberArray(value) ? commonDType(type.dtype, expected.dtype) : type.dtype;
        if (dtype === expected.dtype) return asNumber(leaf.astype(dtype));
        if (canBecome(expected.dtype, dtype)) want(what, dtype, facts);
      }
      throw otherDtype(leafPlaces(what, value)[k], expected.dtype, type.dtype, agreement);
    }
    const isAlike = agreement.mayDiffer
      ? type.shape.length === expected.shape.length
      : sameShape(type.shape, expected.shape);
    if (isAlike) return leaf;
    throw otherShape(leafPlaces(what, value)[k], expected, type, agreement);
  });
}

function isHostNumber(value: unknown): value is number | boolean {
  return isPlainNumber(value) || typeof value === 'boolean';
}

function fitsDType(value: unknown, dtype: DType): boolean {
  if (typeof value === 'boolean') return dtype === 'bool';
  return dtype === 'int32' ? isInt32(value as number) : dtype !== 'bool';
}

/** The dtype of a number that is one on one path and the other on the other. */
function commonDType(a: DType, b: DType): DType {
  if (a === b) return a;
  if (a === 'bool') return b;
  return b === 'bool' ? a : 'float32';
}

/** Puts values together again. */
export function unpack(
  layouts: readonly PackedLayout[],
  leaves: readonly NDArray[],
): readonly unknown[] {
  let next = 0;
  return layouts.map(({ what, structure, value, types, numbers }) => {
    if (structure === null) return standsFor(value);
    const own = leaves.slice(next, (next += types.length));
    for (const k of numbers) asNumber(own[k]);
    return rebuilt(what, structure, own);
  });
}

/**
 * Zeros in the place of values that a path does not have and nobody reads. With `mayDiffer` they have no elements
 * where only the data of another path decides how many.
 * @throws TraceError otherwise.
 */
export function placeholders(
  layouts: readonly PackedLayout[],
  { mayDiffer }: Pick<Agreement, 'mayDiffer'>,
): readonly NDArray[] {
  return layouts.flatMap(({ what, types }) => {
    const unknown = types.find(({ shape }) => !shape.every(isKnownSize));
    if (mayDiffer || unknown === undefined) return absentValues(types);
    throw new TraceError(`${what} has sizes that only the data decides`, {
      op: graphDirective,
      actual: typeToString(unknown),
      advice: 'give it on every path',
    });
  });
}
