import { promote } from '../../../base/dtype.js';
import { type Dim, isStatic, mulDim, sameDim, subDim, symbolsOf } from '../../../base/dim/index.js';
import type { TensorType } from '../../../ir/types.js';
import * as operators from '../../../ops/index.js';
import { array } from '../../arrays/creation.js';
import { joinOutputs } from '../../control/tracing.js';
import { mode, withMode } from '../../core/mode.js';
import type { NDArray } from '../../core/ndarray.js';
import { nameOutput } from '../../graphs/region.js';
import { placeOf } from '../values/host.js';
import type { PushedRows, Rows } from '../values/path.js';
import { noNumbers, placeholders } from '../values/values.js';
import type { TraceFacts, RowFacts } from '../values/trace-facts.js';

/*
 * Rows that captured code pushes to lists. A path or an iteration gives its rows as arrays; those that may not have
 * been pushed have a flag, and the mask is applied where the list is stacked.
 */

export function singleRow(row: NDArray): Rows {
  return { rows: row.expandDims(0), flags: null, single: row };
}

/** One after the other. */
export function joinRows(parts: readonly Rows[]): Rows {
  if (parts.length === 1) return parts[0];
  const rows = operators.concat<NDArray>(parts.map((part) => part.rows));
  if (parts.every(({ flags }) => flags === null)) return { rows, flags: null };
  return { rows, flags: operators.concat<NDArray>(parts.map(flagsOf)) };
}

/** Rows without those that were not pushed. */
export function maskRows({ rows, flags }: Rows): NDArray {
  return flags === null ? rows : operators.booleanMask<NDArray>(rows, flags);
}

/** The number of rows that were pushed, as an int32 array of rank 0. */
export function countRows({ rows, flags }: Rows): NDArray {
  if (flags !== null) return flags.astype('int32').sum().astype('int32');
  return operators.dimLike<NDArray>(rows, rows.type.shape[0], { dtype: 'int32' });
}

/** The last row that was pushed; `before` where none was, or zeros, which nobody may use then. */
export function lastRow(before: NDArray | null, { rows, flags }: Rows): NDArray {
  const [count, ...row] = rows.type.shape;
  if (flags === null && isStatic(count) && count > 0) return rows.slice(count - 1);
  const first = before ?? operators.zerosLike<NDArray>(rows, { shape: row });
  if (flags !== null && isStatic(count) && count <= mostChoices) {
    let last = first;
    for (let i = 0; i < count; i++) last = operators.where(flags.slice(i), rows.slice(i), last);
    return last;
  }
  const all = operators.concat<NDArray>([first.expandDims(0), rows]);
  if (flags === null) {
    return all.take(operators.dimLike<NDArray>(rows, count, { dtype: 'int32' }), { axis: 0 });
  }
  // The row before is there always.
  const places = flags.astype('int32').cumsum(0).mul(flags.astype('int32'));
  const position = operators.concat<NDArray>([
    array([0], { dtype: places.dtype as 'int32' }),
    places,
  ]);
  return all.take(position.argmax(0), { axis: 0 });
}

/** Rows of known number up to which the last one is chosen by comparing flags. */
const mostChoices = 4;

export function flagsOf({ rows, flags }: Rows): NDArray {
  return flags ?? operators.onesLike<NDArray>(rows, { dtype: 'bool', shape: [rows.type.shape[0]] });
}

/** Calls operators in the name of the latest push to a list: errors of the program about its rows tell that place. */
function atPush(list: object, give: () => NDArray): NDArray {
  const { site } = list as { readonly site: string | null };
  return site === null ? give() : withMode(placeOf(site), 'push', give);
}

/** Rows that errors of the program call by the name of their list. */
function named(list: object, rows: NDArray): NDArray {
  const { name } = list as { readonly name: string };
  nameOutput(rows, `the list ${name}, by one iteration,`);
  return rows;
}

/** The rows of one iteration of a loop as its outputs, and those of all iterations. */
export class LoopRows {
  #lists: readonly {
    readonly list: object;
    readonly kind: 'joined' | 'single' | 'several';
    readonly isMasked: boolean;
  }[] = [];

  /** The arrays of rows whose number the data of the iteration decides come first: these are joined. */
  outputs(pushed: PushedRows): readonly NDArray[] {
    const all = [...pushed].map(([list, parts]) => {
      const rows = joinRows(parts);
      if (!isDecidedInside(rows.rows.type.shape[0]))
        return { list, kind: rows.single === undefined ? 'several' : 'single', ...rows } as const;
      const own = atPush(list, () => maskRows(rows));
      return { list, kind: 'joined', rows: named(list, own), flags: null } as const;
    });
    const isJoined = all.map(({ kind }) => kind === 'joined');
    const inOrder = [...all.filter((_, k) => isJoined[k]), ...all.filter((_, k) => !isJoined[k])];
    this.#lists = inOrder.map(({ list, kind, flags }) => ({
      list,
      kind,
      isMasked: flags !== null,
    }));
    joinOutputs(isJoined.filter(Boolean).length);
    return inOrder.flatMap(({ rows, flags, single = rows }: Rows) =>
      flags === null ? [single] : [rows, flags],
    );
  }

  /**
   * The rows of each list, from the outputs of all iterations. `iterations`: the number of those that have run, where the
   * outputs are padded.
   */
  pushed(
    stacked: readonly NDArray[],
    iterations: NDArray | null,
  ): readonly (readonly [list: object, rows: Rows])[] {
    let next = 0;
    return this.#lists.map(({ list, kind, isMasked }) => {
      const rows = stacked[next++];
      if (kind === 'joined') return [list, { rows, flags: null }] as const;
      const shape = rows.type.shape.slice(0, kind === 'single' ? 1 : 2);
      // Padding is zero, and so is the flag of a row there.
      const flags = isMasked ? stacked[next++] : iterations === null ? null : hasRun(rows, shape, iterations); // prettier-ignore
      if (kind === 'single') return [list, { rows, flags }] as const;
      return [
        list,
        {
          rows: atPush(list, () => withoutIterations(rows)),
          flags: flags === null ? null : withoutIterations(flags),
        },
      ] as const;
    });
  }
}

/** One bool for each row of padded outputs: true if its iteration has run. */
function hasRun(stacked: NDArray, shape: readonly Dim[], iterations: NDArray): NDArray {
  const place = operators.onesLike<NDArray>(stacked, { dtype: 'int32', shape });
  return place.cumsum(0).lessEqual(iterations);
}

/** Rows of iterations as rows one after the other. */
function withoutIterations(stacked: NDArray): NDArray {
  const [iterations, count, ...row] = stacked.type.shape;
  return stacked.reshape([mulDim(iterations, count), ...row]);
}

/** The rows of two paths of which an array chooses one: both give arrays of one type, with flags. */
export class BranchRows {
  readonly #facts: TraceFacts;
  readonly #known: Map<object, RowFacts>;

  constructor(facts: TraceFacts) {
    this.#facts = facts;
    this.#known = facts.branchRows;
  }

  /**
   * The rows of a path as arrays.
   * @throws Retrace where the other path, traced before, has to give more.
   */
  outputs(pushed: PushedRows, isFirst: boolean): readonly NDArray[] {
    const joined = new Map([...pushed].map(([list, parts]) => [list, joinRows(parts)]));
    let isChanged = false;
    for (const [list, { rows }] of joined) {
      const [size, ...row] = rows.type.shape;
      const known = this.#known.get(list);
      const count = mostRows(known?.count, size);
      const dtype = known === undefined ? rows.dtype : promote(known.type.dtype, rows.dtype);
      if (known?.type.dtype === dtype && isSameCount(known.count, count)) continue;
      isChanged = true;
      this.#known.set(list, { count, type: { dtype, shape: row } });
    }
    if (isChanged && !isFirst) {
      const slots = [...this.#known.values()].map(
        ({ count, type }) => `${String(count)} ${type.dtype}`,
      );
      this.#facts.learnRows(`the rows of lists, ${slots.join(', ')}`);
    }
    return [...this.#known].flatMap(([list, slots]) => filled(joined.get(list), slots));
  }

  /** The rows of each list, from the results of the branch. */
  pushed(results: readonly NDArray[]): readonly (readonly [list: object, rows: Rows])[] {
    return [...this.#known.keys()].map(
      (list, i) => [list, { rows: results[2 * i], flags: results[2 * i + 1] }] as const,
    );
  }
}

function mostRows(known: Dim | null | undefined, size: Dim): Dim | null {
  if (known === null || isDecidedInside(size)) return null;
  if (known === undefined || sameDim(known, size)) return size;
  return isStatic(known) && isStatic(size) ? Math.max(known, size) : null;
}

function isSameCount(a: Dim | null, b: Dim | null): boolean {
  return a === null || b === null ? a === b : sameDim(a, b);
}

/** True for a size that only the data of the present path or iteration decides. */
export function isDecidedInside(size: Dim): boolean {
  return [...symbolsOf(size)].some((name) => mode.capture?.sizes.decided.has(name) === true);
}

/** As many rows as a branch gives, with zeros where a path has pushed fewer and their number is known. */
function filled(joined: Rows | undefined, { count, type }: RowFacts): readonly NDArray[] {
  if (joined === undefined) {
    const { dtype, shape } = type;
    const types: readonly TensorType[] = [
      { dtype, shape: [count ?? 0, ...shape] },
      { dtype: 'bool', shape: [count ?? 0] },
    ];
    const layout = {
      what: 'a pushed row',
      structure: null,
      value: null,
      types,
      isNumber: false,
      numbers: noNumbers,
    };
    return placeholders([layout], { mayDiffer: true });
  }
  const rows = joined.rows.astype(type.dtype);
  const flags = flagsOf(joined);
  const [size, ...row] = rows.type.shape;
  if (count === null && !isStatic(size)) {
    // Of rows that the data counts the size is a symbol, and no sum: gradients find it in those of the result.
    const pushed = operators.booleanMask<NDArray>(rows, flags);
    return [pushed, flagsOf({ rows: pushed, flags: null })];
  }
  if (count === null || sameDim(size, count)) return [rows, flags];
  const missing = subDim(count, size);
  return [
    operators.concat<NDArray>([
      rows,
      operators.zerosLike<NDArray>(rows, { shape: [missing, ...row] }),
    ]),
    operators.concat<NDArray>([flags, operators.zerosLike<NDArray>(flags, { shape: [missing] })]),
  ];
}
