import { type Dim, sameDim, substituteDim, symbol, symbolsOf } from '../../base/dim/index.js';
import { ArgumentError, DTypeError, GraphError, ShapeError } from '../../base/errors.js';
import { bindProgram, determinedSymbols, substituteType, symbolsOfTypes } from '../../ir/bind.js';
import type { InferContext } from '../../ir/operator.js';
import { type Program, typeToString } from '../../ir/program.js';
import { equalSizes, type Refusal, refusalWithin, type Require, requireAt, speaksOnlyOf, words } from '../../ir/requirement.js'; // prettier-ignore
import type { Shape, TensorType } from '../../ir/types.js';
import type { Meeting } from '../declare/meeting.js';

/*
 * What the operators that own regions have in common: the types of a region's outputs, given those of
 * its operands. A region's symbols are its own; they stand for the sizes of what it is called with.
 */

/** Byte limit of padding the rows of a loop to its iteration limit where nobody has asked for it. */
export const paddingBytes: number = 1 << 24;

/** Result of a region's inference on operands: output types in the dimensions of the enclosing program. */
export interface Instance {
  readonly types: readonly TensorType[];
  /** Binding of the region's symbols; symbols that it introduces itself are absent. */
  readonly dims: ReadonlyMap<string, Dim>;
  /** The sizes in `types` that the data of a run of the region decides. */
  readonly own: ReadonlySet<string>;
}

/** The region at an index; refuses an operator without it. */
export function regionAt(op: string, regions: readonly Program[], index: number): Program {
  const region = regions[index];
  if (region === undefined)
    throw new GraphError(`region ${index} is missing`, { op, expected: 'a program' });
  return region;
}

/** The first iteration in errors: it refuses what the sizes of the operands decide. */
export const firstIteration = 'iteration 0';

/** Operands of a region, and the sizes that it is passed. */
export interface RegionOperands {
  readonly types: readonly TensorType[];
  /** Default none. */
  readonly sizes?: readonly Dim[];
}

/**
 * Binds a region to its operands, and states its requirements on their sizes; `where` is said in their errors.
 */
export function bindRegion(
  op: string,
  region: Program,
  { types: operands, sizes }: RegionOperands,
  require: InferContext['require'],
  where?: string,
): Instance {
  const within: Require =
    where === undefined
      ? require
      : (condition, refusal) =>
          require(condition, () =>
            refusalWithin(refusal(), [where], { op: { name: op }, source: undefined }));
  const dims = bindProgram<Dim>(region, operands, sizes, op);
  for (const requirement of region.requirements) {
    // Requirements on sizes that the region's own data decides are checked where these are known.
    if (speaksOnlyOf(requirement, dims)) requireAt(requirement, dims, within);
  }
  const types = region.outputs.map(({ value }) => value.type);
  const own = ownSizes(types, dims, operands);
  const all = new Map([...dims, ...own]);
  return {
    types: types.map((type) => substituteType(type, all)),
    dims,
    own: new Set([...own.values()].map(String)),
  };
}

/**
 * Fresh names for the sizes that a region introduces: they differ from all sizes of the enclosing program,
 * whatever their names.
 */
function ownSizes(
  types: readonly TensorType[],
  dims: ReadonlyMap<string, Dim>,
  operands: readonly TensorType[],
): ReadonlyMap<string, Dim> {
  const own = new Map<string, Dim>();
  const taken = new Set(symbolsOfTypes(operands).keys());
  for (const dim of dims.values()) symbolsOf(dim, taken);
  for (const [name, bounds] of symbolsOfTypes(types)) {
    if (dims.has(name)) continue;
    let apart = name;
    while (taken.has(apart)) apart += '_';
    taken.add(apart);
    own.set(name, symbol(apart, bounds));
  }
  return own;
}

/** The refusal of a result whose sizes only an iteration reveals. */
export function undecidedSizes(op: string, what: string, type: TensorType): Refusal {
  return {
    op,
    problem: [`${what} has a size that the data of each iteration decides`],
    expected: ['an iteration, which decides it'],
    actual: [typeToString(type)],
    advice: 'write it into an array of fixed size inside the body, or do not loop over nothing',
  };
}

/** The results of a loop that have rows. */
interface RowResults {
  /** The number of results with rows. */
  readonly count: number;
  /** The number of them, from the first on, that join arrays: an iteration gives any number of rows for each. */
  readonly joined: number;
  /** The number of stacked rows. */
  readonly length: Dim;
}

/**
 * The types of the results with the rows of all iterations. Sizes of a row that the data of an iteration decides become
 * fresh sizes of the enclosing program: all iterations must agree on them, which is checked at run time.
 */
export function rowResults(
  op: string,
  { types, own }: Instance,
  { count, joined, length }: RowResults,
  fresh: InferContext['fresh'],
): readonly TensorType[] {
  types.slice(0, joined).forEach((type, k) => {
    if (type.shape.length > 0) return;
    throw new ShapeError(`output ${k} has no axis to join`, {
      op,
      expected: 'at least one axis',
      actual: typeToString(type),
    });
  });
  const rows = types
    .slice(0, count)
    .map(({ dtype, shape }, k) => ({ dtype, shape: k < joined ? shape.slice(1) : shape }));
  return agreedRows(rows, own, fresh).map(({ dtype, shape }, k) => ({
    dtype,
    shape: [k < joined ? fresh('joined') : length, ...shape],
  }));
}

function agreedRows(
  rows: readonly TensorType[],
  own: Instance['own'],
  fresh: InferContext['fresh'],
): readonly TensorType[] {
  if (own.size === 0) return rows;
  const agreed = new Map<string, Dim>();
  const told = determinedSymbols(rows);
  for (const [name, bounds] of symbolsOfTypes(rows)) {
    if (own.has(name) && told.has(name)) agreed.set(name, fresh(name, bounds));
  }
  return rows.map(({ dtype, shape }) => ({
    dtype,
    shape: shape.map((dim) => {
      // By the names of the region: a fresh size may have one of them.
      const isTold = [...symbolsOf(dim)].every((name) => !own.has(name) || agreed.has(name));
      if (isTold) return substituteDim(dim, agreed);
      // A size that is not derivable from others is fresh itself.
      if (!agreed.has(String(dim))) agreed.set(String(dim), fresh('size'));
      return agreed.get(String(dim))!;
    }),
  }));
}

function isOwnSize(dim: Dim, own: ReadonlySet<string>): boolean {
  return own.size > 0 && [...symbolsOf(dim)].some((name) => own.has(name));
}

/**
 * Requires that a state keeps its type in an iteration; `what` names it. Sizes that the data of an iteration
 * decides (`own`) are checked at run time.
 */
export function checkState(
  op: string,
  what: string,
  before: TensorType,
  after: TensorType,
  { require, own }: { readonly require: InferContext['require']; readonly own: Instance['own'] },
): void {
  if (before.dtype !== after.dtype) {
    throw new DTypeError(`${what} changes its dtype`, {
      op,
      expected: before.dtype,
      actual: after.dtype,
      advice: 'cast the new state, or start from one of that dtype',
    });
  }
  const refusal = (): Refusal => changedShape(op, what, before, after);
  require(before.shape.length === after.shape.length, refusal);
  before.shape.forEach((dim, axis) => {
    if (!isOwnSize(after.shape[axis], own)) require(equalSizes(dim, after.shape[axis]), refusal);
  });
}

/** The refusal of a state that changes its shape; `what` names it. */
export function changedShape(
  op: string,
  what: string,
  before: TensorType,
  after: TensorType,
): Refusal {
  return {
    op,
    problem: words`${what} changes its shape`,
    expected: words`${before.dtype}${before.shape}`,
    actual: words`${after.dtype}${after.shape}`,
    advice: 'a state keeps its shape from one iteration to the next',
  };
}

/** Refuses a condition that is not a single bool. */
export function checkPredicate(op: string, what: string, { dtype, shape }: TensorType): void {
  if (dtype !== 'bool') {
    throw new DTypeError(`${what} is not a truth value`, {
      op,
      expected: 'bool',
      actual: dtype,
      advice: 'compare: x.greater(0), x.notEqual(0)',
    });
  }
  if (shape.some((dim) => dim !== 1)) {
    throw new ShapeError(`${what} does not have exactly one element`, {
      op,
      expected: 'one element',
      actual: typeToString({ dtype, shape }),
      advice: 'say which with any() or all()',
    });
  }
}

/** Refuses a number of operands or outputs that does not fit the regions. */
export function checkCount(op: string, what: string, expected: number, actual: number): void {
  if (expected === actual) return;
  throw new ArgumentError(`the number of ${what} differs`, {
    op,
    expected: String(expected),
    actual: String(actual),
  });
}

/** The common size of the first axes of the data; `names` names the data in errors. */
export function lengthOf(
  op: string,
  data: readonly TensorType[],
  names: readonly string[],
  require: InferContext['require'],
): Dim {
  if (data.length === 0) {
    throw new ShapeError('there is nothing to iterate over', {
      op,
      expected: 'data of at least one array',
      actual: 'none',
      advice: 'iterate over kn.arange(length)',
    });
  }
  data.forEach((type, k) => {
    if (type.shape.length > 0) return;
    throw new ShapeError(`${names[k]} has no axis to iterate over`, {
      op,
      expected: 'at least one axis',
      actual: typeToString(type),
    });
  });
  const length = data[0].shape[0];
  data.forEach(({ shape }, k) => {
    if (sameDim(shape[0], length)) return;
    require(equalSizes(shape[0], length), () => anotherLength(op, names, k, shape[0], length));
  });
  return length;
}

function anotherLength(
  op: string,
  names: readonly string[],
  k: number,
  actual: Dim,
  length: Dim,
): Refusal {
  return {
    op,
    problem: words`${names[k]} has another length`,
    expected: words`${length}, as ${names[0]} has`,
    actual: words`${actual}`,
  };
}

/** Meeting of the first axes of the data, the leading operands, with the names of `lengthOf`. */
export function lengthMeeting(
  op: string,
  shapes: readonly Shape[],
  names: readonly string[],
): readonly Meeting[] {
  if (names.some((_, k) => shapes[k].length === 0)) return [];
  return [
    {
      places: names.map((_, operand) => ({ operand, axis: 0 })),
      broadcasts: false,
      refusal: ({ operand }, length) =>
        anotherLength(op, names, operand, shapes[operand][0], length),
    },
  ];
}
