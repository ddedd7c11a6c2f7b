import { type Dim, elementCount } from '../../base/dim/index.js';
import { type DType, isFloat } from '../../base/dtype.js';
import type { Tensor } from '../../ir/types.js';
import { mul } from '../elementwise/arithmetic.js';
import { cast } from '../elementwise/conversion.js';
import { wideDType } from '../loops.js';
import { diagonal } from '../movement/diagonal.js';
import { reshape } from '../movement/reshape.js';
import { transpose } from '../movement/transpose.js';
import { sum } from '../reduction/sum.js';
import type { Label } from './equation.js';
import { matmul } from './matmul.js';

/** An array with labeled axes. */
export interface LabeledTensor<T extends Tensor> {
  readonly x: T;
  /** Distinct, one for each axis. */
  readonly labels: readonly Label[];
}

/**
 * The sum of products over all labels that `output` lacks, pair by pair: each product sums over labels that
 * nothing else needs. A size of 1 broadcasts.
 */
export function contractTerms<T extends Tensor>(
  terms: readonly LabeledTensor<T>[],
  output: readonly Label[],
): T {
  const rest = new Terms(droppedOnes(terms), output);
  while (rest.size > 1) {
    const [a, b] = rest.takeCheapest();
    rest.put(product(a, b, rest.needed([a, b])));
  }
  const last = summedOut(rest.takeLast(), new Set(output));
  return arranged(last, output);
}

/**
 * Terms that are still to be multiplied, in order. The cost of a product depends on its factors' labels only,
 * so terms are grouped by labels: there are few groups, however many terms.
 */
class Terms<T extends Tensor> {
  readonly #output: ReadonlySet<Label>;
  /** Keyed by the set of labels. */
  readonly #groups: Map<string, Group<T>> = new Map();
  /** Number of terms with a label. */
  readonly #uses: Map<Label, number> = new Map();
  #next = 0;
  /** Number of terms. */
  size = 0;

  constructor(terms: readonly LabeledTensor<T>[], output: readonly Label[]) {
    this.#output = new Set(output);
    for (const { labels } of terms) this.#count(labels, 1);
    // Labels that only one term has, and the output lacks, are summed out first. Products leave no such
    // label.
    const isShared = (label: Label): boolean => (this.#uses.get(label) ?? 0) > 1;
    const summed =
      terms.length < 2
        ? terms
        : terms.map((term) =>
            summedOut(term, new Set([...output, ...term.labels.filter(isShared)])),
          );
    this.#uses.clear();
    for (const term of summed) this.put(term);
  }

  put(term: LabeledTensor<T>): void {
    const key = [...term.labels].sort().join();
    let group = this.#groups.get(key);
    if (group === undefined) {
      this.#groups.set(key, (group = { labels: new Set(term.labels), queue: [], first: 0 }));
    }
    group.queue.push({ term, at: this.#next++ });
    this.#count(term.labels, 1);
    this.size++;
  }

  /** The labels that some other term or the output needs. */
  needed(without: readonly LabeledTensor<T>[]): Set<Label> {
    // Those terms are already removed.
    const labels = new Set(without.flatMap((term) => term.labels));
    return new Set([...labels].filter((label) => this.#isWanted(label, 0)));
  }

  /** Removes the only term. */
  takeLast(): LabeledTensor<T> {
    return this.#take([...this.#groups.values()].find((group) => count(group) > 0)!);
  }

  /**
   * Removes the pair whose product iterates over the fewest axes, then the one that leaves the fewest; the
   * first of equals. Sizes do not count: an order that depended on them would change the last bits between a
   * program of static and one of symbolic dimensions.
   */
  takeCheapest(): readonly [LabeledTensor<T>, LabeledTensor<T>] {
    const groups = [...this.#groups.values()].filter((group) => count(group) > 0);
    let best: readonly [Group<T>, Group<T>] = [groups[0], groups[0]];
    let least: readonly number[] = [Infinity];
    groups.forEach((a, i) => {
      for (const b of groups.slice(count(a) > 1 ? i : i + 1)) {
        const cost = this.#costOf(a, b);
        if (!isLess(cost, least)) continue;
        least = cost;
        best = [a, b];
      }
    });
    const [a, b] = best[0] === best[1] || head(best[0]) < head(best[1]) ? best : [best[1], best[0]];
    return [this.#take(a), this.#take(b)];
  }

  /** Axes to iterate over, axes that remain, and the positions of both in the order of all. */
  #costOf(a: Group<T>, b: Group<T>): readonly number[] {
    const joined = new Set([...a.labels, ...b.labels]);
    let kept = 0;
    for (const label of joined) {
      const own = Number(a.labels.has(label)) + Number(b.labels.has(label));
      if (this.#isWanted(label, own)) kept++;
    }
    const places = a === b ? [head(a), a.queue[a.first + 1].at] : [head(a), head(b)];
    return [joined.size, kept, Math.min(...places), Math.max(...places)];
  }

  #isWanted(label: Label, besides: number): boolean {
    return this.#output.has(label) || (this.#uses.get(label) ?? 0) > besides;
  }

  #take(group: Group<T>): LabeledTensor<T> {
    const { term } = group.queue[group.first++];
    this.#count(term.labels, -1);
    this.size--;
    return term;
  }

  #count(labels: readonly Label[], by: number): void {
    for (const label of labels) this.#uses.set(label, (this.#uses.get(label) ?? 0) + by);
  }
}

/** Terms with the same labels, in order; those before `first` are removed. */
interface Group<T extends Tensor> {
  readonly labels: ReadonlySet<Label>;
  readonly queue: { readonly term: LabeledTensor<T>; readonly at: number }[];
  first: number;
}

function count({ queue, first }: Group<Tensor>): number {
  return queue.length - first;
}

/** The position of its first term. */
function head({ queue, first }: Group<Tensor>): number {
  return queue[first].at;
}

/** Lexicographic order. */
function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, k) => value !== b[k]);
  return at >= 0 && a[at] < b[at];
}

/** Replaces diagonals by one axis: distinct labels from possibly repeated ones. */
export function withoutRepeats<T extends Tensor>(x: T, labels: readonly Label[]): LabeledTensor<T> {
  const second = labels.findIndex((label, axis) => labels.indexOf(label) < axis);
  if (second < 0) return { x, labels };
  const first = labels.indexOf(labels[second]);
  const others = labels.filter((_, axis) => axis !== first && axis !== second);
  return withoutRepeats(diagonal(x, 0, first, second), [...others, labels[second]]);
}

/** Drops axes of size 1 that are longer in another term, which broadcasts them. */
function droppedOnes<T extends Tensor>(
  terms: readonly LabeledTensor<T>[],
): readonly LabeledTensor<T>[] {
  const longer = new Set(
    terms.flatMap((term) => term.labels.filter((label) => extentOf(term, label) !== 1)),
  );
  return terms.map((term) => {
    const kept = term.labels.filter((label) => extentOf(term, label) !== 1 || !longer.has(label));
    if (kept.length === term.labels.length) return term;
    return {
      x: reshape(
        term.x,
        kept.map((label) => extentOf(term, label)),
      ),
      labels: kept,
    };
  });
}

function extentOf({ x, labels }: LabeledTensor<Tensor>, label: Label): Dim {
  return x.type.shape[labels.indexOf(label)];
}

/** Sums over the labels that are not needed, in the same dtype. */
function summedOut<T extends Tensor>(
  term: LabeledTensor<T>,
  wanted: ReadonlySet<Label>,
): LabeledTensor<T> {
  const axes = term.labels.flatMap((label, axis) => (wanted.has(label) ? [] : [axis]));
  if (axes.length === 0) return term;
  return {
    x: cast(sum(term.x, axes), term.x.type.dtype),
    labels: term.labels.filter((label) => wanted.has(label)),
  };
}

/** Multiplies two terms and sums over labels that only they have and nothing needs. */
function product<T extends Tensor>(
  a: LabeledTensor<T>,
  b: LabeledTensor<T>,
  wanted: ReadonlySet<Label>,
): LabeledTensor<T> {
  const shared = a.labels.filter((label) => b.labels.includes(label));
  const batch = shared.filter((label) => wanted.has(label));
  const inner = shared.filter((label) => !wanted.has(label));
  const rows = a.labels.filter((label) => !shared.includes(label));
  const columns = b.labels.filter((label) => !shared.includes(label));
  const labels = [...batch, ...rows, ...columns];
  const sizes = labels.map((label) => extentOf(a.labels.includes(label) ? a : b, label));
  if (inner.length === 0) {
    const left = grouped(a, [...batch, ...rows].map(alone), columns.map(nothing));
    const right = grouped(b, batch.map(alone), rows.map(nothing), columns.map(alone));
    return { x: mul(left, right), labels };
  }
  if (rows.length === 0 && columns.length === 0) {
    const order = [...batch, ...inner];
    const { dtype } = a.x.type;
    // Products of narrow floats are rounded once, after the summation.
    const sumDType = isFloat(dtype) ? wideDType(dtype) : dtype;
    const [left, right] = [a, b].map((term) => inDType(arranged(term, order), sumDType));
    const sum = summedOut({ x: mul(left, right), labels: order }, wanted);
    return { ...sum, x: inDType(sum.x, dtype) };
  }
  const left = grouped(a, batch.map(alone), [rows, inner]);
  const right = grouped(b, batch.map(alone), [inner, columns]);
  return { x: reshape(matmul(left, right), sizes), labels };
}

const inDType = <T extends Tensor>(x: T, dtype: DType): T =>
  x.type.dtype === dtype ? x : cast(x, dtype);

const alone = (label: Label): readonly Label[] => [label];
const nothing = (): readonly Label[] => [];

/** Permutes axes into groups, each flattened to one axis; an empty group is an axis of 1. */
function grouped<T extends Tensor>(
  term: LabeledTensor<T>,
  ...groups: readonly (readonly (readonly Label[])[])[]
): T {
  const axes = groups.flat();
  const ordered = arranged(term, axes.flat());
  if (axes.every((group) => group.length === 1)) return ordered;
  return reshape(
    ordered,
    axes.map((group) => elementCount(group.map((label) => extentOf(term, label)))),
  );
}

/** Permutes the axes into this order. */
function arranged<T extends Tensor>({ x, labels }: LabeledTensor<T>, order: readonly Label[]): T {
  const axes = order.map((label) => labels.indexOf(label));
  return axes.every((from, to) => from === to) ? x : transpose(x, axes);
}
