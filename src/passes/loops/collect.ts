import type { Output, Program, Value } from '../../ir/program.js';
import { add } from '../../ops/elementwise/arithmetic.js';
import { callOf } from '../../ops/declare/law.js';
import { valuesAtEntry } from './ahead.js';
import { hasTotal, isLinear, keepsZeros } from './batching.js';
import { nodesBehind } from '../../ir/behind.js';
import {
  areStackable,
  rowBytes,
  bytesOfRows,
  type Dependence,
  dependences,
  isKernel,
} from './dependence.js';
import { build, editLoops, type Loop, type CarriedValue, mayStoreRows } from './loop.js';
import { isDistributive } from './rows.js';

/**
 * Moves accumulation behind a loop: `for t: s = s + f(a_t, b_t)` becomes `s + sum_t f(a_t, b_t)`, and where f
 * is a product, as in the gradient of a weight, the sum is one product: `sum_t a_t^T @ b_t = a^T @ b` over
 * time and batch together. The order of float additions changes, so results agree up to rounding.
 *
 * The loop stores the operands of products, never terms of elementwise work that no row holds yet:
 * accumulating in place is as cheap as storing them. All products together may store as many bytes an
 * iteration as accumulating in place reads and writes, and as many again as there are rows of: memory for
 * rows at most doubles.
 */
export function sinkSums(program: Program): Program {
  return editLoops(program, collect);
}

/** A state that is only accumulated, with its terms. */
interface Sum {
  readonly state: CarriedValue;
  readonly terms: readonly Value[];
}

function collect(loop: Loop): readonly Value[] | undefined {
  if (!mayStoreRows(loop)) return undefined;
  const { states, rows, count } = loop;
  const uses = usesIn(loop);
  const sums = states.flatMap((state): Sum[] => {
    const terms = termsOf(state, uses);
    return terms === null ? [] : [{ state, terms }];
  });
  if (sums.length === 0) return undefined;
  const source = new Sources(loop);
  const there = new Set(rows.map(({ value }) => value));
  const chosen = chooseSums(sums, source, there, bytesOfRows(loop));
  if (chosen.sums.length === 0) return undefined;
  const emitted = [...rows, ...chosen.further.map((value): Output => ({ name: 'kept', value }))];
  const left = states.filter((state) => !chosen.sums.some((sum) => sum.state === state));
  const made =
    emitted.length + left.length === 0
      ? { rows: [], states: [] }
      : build({ ...loop, rows: emitted, states: left });
  const given = new Map(
    emitted.map(({ value }, k) => [value, { value: made.rows[k], isBatched: true }]),
  );
  const outside = valuesAtEntry(count === null ? loop : { ...loop, data: [] }, given);
  return [
    ...made.rows.slice(0, rows.length),
    ...states.map((state) => {
      const sum = chosen.sums.find((one) => one.state === state);
      return sum === undefined
        ? made.states[left.indexOf(state)]
        : outside.sumOf(sum.terms, state.operand);
    }),
  ];
}

/** Number of reads of each value by the live part of the body, outputs included. */
function usesIn({ body }: Loop): ReadonlyMap<Value, number> {
  const uses = new Map<Value, number>();
  const count = (value: Value): void => void uses.set(value, (uses.get(value) ?? 0) + 1);
  const ends = body.outputs.map(({ value }) => value);
  ends.forEach(count);
  for (const id of nodesBehind(body, ends)) body.operands(id).forEach(count);
  return uses;
}

/** The terms added to a state in an iteration, if nothing else reads it. */
function termsOf(
  { stands, next }: CarriedValue,
  uses: ReadonlyMap<Value, number>,
): readonly Value[] | null {
  if (stands.reduce((sum, value) => sum + (uses.get(value) ?? 0), 0) !== 1) return null;
  const below = (value: Value): readonly Value[] | null => {
    if (stands.includes(value)) return [];
    const sum = uses.get(value) === 1 ? callOf(value, add) : null;
    if (sum === null) return null;
    const [x, y] = sum.inputs;
    const left = below(x);
    if (left !== null) return [...left, y];
    const right = below(y);
    return right === null ? null : [...right, x];
  };
  return below(next.value);
}

/**
 * The sums that are worth moving behind the loop, and the additional rows for them: all that are products if
 * that pays for them together, else those for which it pays alone; then those that need nothing more.
 */
function chooseSums(
  sums: readonly Sum[],
  source: Sources,
  rows: ReadonlySet<Value>,
  spare: number,
): { readonly sums: readonly Sum[]; readonly further: readonly Value[] } {
  const there = new Set(rows);
  const chosen = new Set<Sum>();
  let left = spare;
  const take = (group: readonly Sum[]): boolean => {
    const needs = new Set<Value>();
    let allowed = left;
    for (const { state, terms } of group) {
      for (const term of terms) {
        const found = source.ofTotal(term, there);
        if (found === null) return false;
        for (const value of found) needs.add(value);
      }
      allowed += 2 * rowBytes(state.next.value);
    }
    const bytes = [...needs].reduce((sum, value) => sum + rowBytes(value), 0);
    if (bytes > allowed) return false;
    left = Math.min(left, allowed - bytes);
    for (const value of needs) there.add(value);
    for (const sum of group) chosen.add(sum);
    return true;
  };
  const possible = sums.filter(({ terms }) =>
    terms.every((term) => source.ofTotal(term, there) !== null),
  );
  if (!take(possible)) possible.forEach((sum) => take([sum]));
  // Rows stored for products serve others, too.
  for (const sum of sums) if (!chosen.has(sum)) take([sum]);
  return {
    sums: sums.filter((sum) => chosen.has(sum)),
    further: [...there].filter((value) => !rows.has(value)),
  };
}

/** Values that a loop has to return so that sums can be computed behind it. */
class Sources {
  readonly #loop: Loop;
  readonly #depends: ReadonlyMap<Value, Dependence>;

  constructor(loop: Loop) {
    this.#loop = loop;
    this.#depends = dependences(loop);
  }

  /** The values whose rows the sum of a value needs; null where it does not pay. */
  ofTotal(value: Value, there: ReadonlySet<Value>): readonly Value[] | null {
    if (this.#isElsewhere(value) || there.has(value)) return [];
    const { body, count } = this.#loop;
    const node = body.node(value.node);
    const isSame = this.#depends.get(value) === 'nothing';
    // Beyond the count the rows of invariants would not be zero.
    if (node.kind !== 'call' || (isSame && count !== null)) return null;
    const operands = body.operands(value.node);
    if (!areStackable(operands, this.#loop)) return null;
    if (isDistributive(node, operands)) return this.ofTotal(operands[0], there);
    if (!hasTotal(node) || !isKernel(body, value.node)) return null;
    const isBatched = operands.map((operand) => this.#depends.get(operand) !== 'nothing');
    if (count !== null && !keepsZeros(node, isBatched)) return null;
    return operands.flatMap((operand) => this.#ofRows(operand, there));
  }

  /** The values whose rows all rows of a value need. Zero rows must stay zero on the way. */
  #ofRows(value: Value, there: ReadonlySet<Value>): readonly Value[] {
    const isSame = this.#depends.get(value) === 'nothing';
    if (isSame || this.#isElsewhere(value) || there.has(value)) return [];
    const { body } = this.#loop;
    const node = body.node(value.node);
    const operands = body.operands(value.node);
    if (node.kind === 'call' && operands.length === 1 && isLinear(node)) {
      const [operand] = operands;
      const isNoLarger = there.has(operand) || rowBytes(operand) <= rowBytes(value);
      if (isNoLarger && areStackable([operand], this.#loop)) return this.#ofRows(operand, there);
    }
    return [value];
  }

  /** True when all rows of a value can be computed without the loop. Beyond a count, data may be anything. */
  #isElsewhere(value: Value): boolean {
    return this.#loop.count === null && this.#depends.get(value) !== 'past';
  }
}
