import { promoteAll } from '../../../base/dtype.js';
import { graphDirective } from '../../../base/directive.js';
import { addDim, type Dim, isStatic, mulDim, sameDim } from '../../../base/dim/index.js';
import { TraceError } from '../../../base/errors.js';
import { typeToString } from '../../../ir/program.js';
import * as operators from '../../../ops/index.js';
import { array, zeros } from '../../arrays/creation.js';
import type { NDArray } from '../../core/ndarray.js';
import { type EarlierRows, type PushedRows, type RowUse, type TracedPath } from '../values/path.js';
import type { TraceFacts, UsedRows } from '../values/trace-facts.js';
import { countIn, isNeverEmpty, lastIn, placeOfPush, type RowList, rowsIn } from './row-list.js';
import { countRows, flagsOf, isDecidedInside, joinRows, lastRow } from './rows.js';

/*
 * Lists that the iterations of a loop both push to and use. What they use of the rows of earlier iterations is a state
 * of the loop: their number, the last one, or all of them in a table, where the number of iterations has a bound.
 */

/** The states of a loop that hold rows of earlier iterations. */
export class EarlierRowStates {
  readonly #facts: TraceFacts;
  readonly #known: Map<RowList, UsedRows>;
  /** Upper bound of the number of iterations; null where nothing tells one. */
  readonly #most: Dim | null;
  readonly #neverEmpty: ReadonlySet<RowList>;
  /** The states before the first iteration. */
  readonly initial: readonly NDArray[];

  constructor(facts: TraceFacts, most: Dim | null) {
    this.#facts = facts;
    this.#most = most;
    // Only lists of rows are keys.
    this.#known = facts.earlierRows as Map<RowList, UsedRows>;
    this.#neverEmpty = new Set([...this.#known.keys()].filter(isNeverEmpty));
    this.initial = [...this.#known].flatMap(([list, known]) => [
      ...(known.uses.has('count') ? [countIn(list)] : []),
      ...(known.uses.has('last') ? [firstLast(list, known)] : []),
      ...(known.uses.has('rows') ? this.#firstTable(list, known) : []),
    ]);
  }

  /** A table with the rows from before the loop, flags, and the place of the next row. */
  #firstTable(list: RowList, known: UsedRows): readonly NDArray[] {
    const { type, count } = known;
    if (this.#most === null || count === null) throw unbounded(list, known);
    // The update of an iteration fits in, even where there is none.
    const most = isStatic(this.#most) ? Math.max(this.#most, 1) : addDim(this.#most, 1);
    const room = mulDim(most, count);
    const rows = zeros([room, ...type.shape], { dtype: type.dtype });
    const flags = zeros([room], { dtype: 'bool' });
    const before = rowsIn(list);
    if (before === null) return [rows, flags, array(0, { dtype: 'int32' })];
    return [
      operators.concat<NDArray>([before.rows.astype(type.dtype), rows]),
      operators.concat<NDArray>([flagsOf(before), flags]),
      countRows({ rows: before.rows, flags: null }),
    ];
  }

  /** The rows before an iteration, from its states. */
  given(states: readonly NDArray[]): ReadonlyMap<object, EarlierRows> {
    let next = 0;
    return new Map(
      [...this.#known].map(([list, { uses }]) => {
        const count = uses.has('count') ? states[next++] : null;
        const last = uses.has('last') ? states[next++] : null;
        const table = uses.has('rows') ? { rows: states[next++], flags: states[next++] } : null;
        if (table !== null) next++;
        const rows: EarlierRows = {
          isNeverEmpty: this.#neverEmpty.has(list),
          count: () => count ?? (table === null ? this.#want(list, 'count') : countRows(table)),
          last: () => last ?? (table === null ? this.#want(list, 'last') : lastRow(null, table)),
          rows: () => table ?? this.#want(list, 'rows'),
        };
        return [list, rows];
      }),
    );
  }

  #want(list: RowList, use: RowUse): never {
    this.#known.get(list)!.uses.add(use);
    this.#retrace();
  }

  #retrace(): never {
    const text = [...this.#known].map(([{ name }, { uses, type, count }]) => `${name} ${[...uses].join(' ')} ${String(count)} ${type.dtype}`); // prettier-ignore
    this.#facts.learnRows(`rows of earlier iterations: ${text.join(', ')}`);
  }

  /**
   * Sees what an iteration uses of lists that it pushes to.
   * @throws Retrace where that is not a state yet; TraceError where it cannot be one.
   */
  learn({ pushed, used }: TracedPath): void {
    let isChanged = false;
    for (const [key, parts] of pushed) {
      const list = key as RowList; // Only lists of rows are keys.
      const known = this.#known.get(list);
      const uses = new Set([...(known?.uses ?? []), ...(used.get(list) ?? [])]);
      if (uses.size === 0) continue;
      const dtypes = parts.map(({ rows }) => rows.dtype);
      const dtype = promoteAll(known === undefined ? dtypes : [known.type.dtype, ...dtypes]);
      const sizes = parts.map(({ rows }) => rows.type.shape[0]);
      const count = sizes.some(isDecidedInside) ? null : sizes.reduce((sum, size) => addDim(sum, size)); // prettier-ignore
      const type = { dtype, shape: parts[0].rows.type.shape.slice(1) };
      const next: UsedRows = { uses, type, count };
      if (type.shape.some(isDecidedInside) && (uses.has('last') || uses.has('rows')))
        throw unbounded(list, next);
      if (uses.has('rows') && (count === null || this.#most === null)) throw unbounded(list, next);
      const isSame = known !== undefined && uses.size === known.uses.size && dtype === known.type.dtype && sameCount(known.count, count); // prettier-ignore
      if (isSame) continue;
      this.#known.set(list, next);
      isChanged = true;
    }
    if (isChanged) this.#retrace();
  }

  /** The states after an iteration that has pushed rows. */
  after(states: readonly NDArray[], pushed: PushedRows): readonly NDArray[] {
    let next = 0;
    return [...this.#known].flatMap(([list, { uses, type }]) => {
      const parts = pushed.get(list);
      const before = states.slice(next, (next += statesFor(uses)));
      if (parts === undefined) return before;
      const own = [...before];
      const rows = joinRows(parts);
      const flags = flagsOf(rows);
      const all = rows.rows.astype(type.dtype);
      const after: NDArray[] = [];
      if (uses.has('count')) after.push(own.shift()!.add(countRows(rows)));
      if (uses.has('last')) after.push(lastRow(own.shift()!, { rows: all, flags: rows.flags }));
      if (uses.has('rows')) {
        const [table, filled, place] = own;
        after.push(
          table.updateSlice(all, place, 0),
          filled.updateSlice(flags, place, 0),
          place.add(countRows({ rows: all, flags: null })),
        );
      }
      return after;
    });
  }
}

function statesFor(uses: ReadonlySet<RowUse>): number {
  return (uses.has('count') ? 1 : 0) + (uses.has('last') ? 1 : 0) + (uses.has('rows') ? 3 : 0);
}

function sameCount(a: Dim | null, b: Dim | null): boolean {
  return a === null || b === null ? a === b : sameDim(a, b);
}

/** The last row before the loop, or zeros where there is none, which nobody may use. */
function firstLast(list: RowList, { type }: UsedRows): NDArray {
  return (lastIn(list) ?? zeros(type.shape, { dtype: type.dtype })).astype(type.dtype);
}

function unbounded(list: RowList, { type, count }: UsedRows): TraceError {
  const { name } = list;
  const isRow = type.shape.some(isDecidedInside);
  return new TraceError(`a captured loop reads ${name}, to which it pushes`, {
    op: graphDirective,
    expected: isRow
      ? 'rows of one size'
      : `${name}.length, ${name}.at(-1), or a loop whose number of iterations is known to be bounded`,
    actual: isRow
      ? `rows that are ${typeToString(type)}, with a size that the data of the iteration decides`
      : count === null
        ? 'a use of other rows, of which the data of each iteration pushes any number'
        : 'a use of other rows, of which nothing bounds the number',
    advice: `bound the loop, for (let i = 0; i < most; i++) with break, or for (const row of array); or use the list after it, or keep what an iteration needs in variables`,
    ...placeOfPush(list),
  });
}
