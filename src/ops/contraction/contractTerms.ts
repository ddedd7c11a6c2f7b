import { type Dim, sizeOf } from '../../base/dim.js';
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

/** An array whose axes have names. */
export interface Term<T extends Tensor> {
  readonly x: T;
  /** Distinct, one an axis. */
  readonly labels: readonly Label[];
}

/**
 * The sum of products over all labels that `output` lacks, pair by pair: each product sums out at once
 * what nothing else needs. A size of 1 meets any other.
 */
export function contractTerms<T extends Tensor>(
  terms: readonly Term<T>[],
  output: readonly Label[],
): T {
  let rest = droppedOnes(terms);
  while (rest.length > 1) {
    rest = rest.map((term, i) => summedOut(term, needed(rest.toSpliced(i, 1), output)));
    const [i, j] = cheapestPair(rest, output);
    const others = rest.filter((_, at) => at !== i && at !== j);
    rest = [...others, product(rest[i], rest[j], needed(others, output))];
  }
  const last = summedOut(rest[0], new Set(output));
  return arranged(last, output);
}

/** The term without its diagonals' second axes: distinct labels from possibly repeated ones. */
export function withoutRepeats<T extends Tensor>(x: T, labels: readonly Label[]): Term<T> {
  const second = labels.findIndex((label, axis) => labels.indexOf(label) < axis);
  if (second < 0) return { x, labels };
  const first = labels.indexOf(labels[second]);
  const others = labels.filter((_, axis) => axis !== first && axis !== second);
  return withoutRepeats(diagonal(x, 0, first, second), [...others, labels[second]]);
}

function needed(terms: readonly Term<Tensor>[], output: readonly Label[]): Set<Label> {
  return new Set([...output, ...terms.flatMap(({ labels }) => labels)]);
}

/** Terms without those axes of size 1 that another term has longer: broadcasting is leaving them out. */
function droppedOnes<T extends Tensor>(terms: readonly Term<T>[]): readonly Term<T>[] {
  const isLonger = (label: Label): boolean =>
    terms.some(({ x, labels }) => labels.includes(label) && extentOf({ x, labels }, label) !== 1);
  return terms.map((term) => {
    const kept = term.labels.filter((label) => extentOf(term, label) !== 1 || !isLonger(label));
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

function extentOf({ x, labels }: Term<Tensor>, label: Label): Dim {
  return x.type.shape[labels.indexOf(label)];
}

/** The sum over what is not needed, in the same dtype. */
function summedOut<T extends Tensor>(term: Term<T>, wanted: ReadonlySet<Label>): Term<T> {
  const axes = term.labels.flatMap((label, axis) => (wanted.has(label) ? [] : [axis]));
  if (axes.length === 0) return term;
  return {
    x: cast(sum(term.x, axes), term.x.type.dtype),
    labels: term.labels.filter((label) => wanted.has(label)),
  };
}

/**
 * The pair whose product takes the fewest axes to go through, then the one that leaves the fewest; the
 * first of equals. Sizes do not count: an order that changed with them would change the last bits
 * between a program of static and one of symbolic dimensions.
 */
function cheapestPair(terms: readonly Term<Tensor>[], output: readonly Label[]): [number, number] {
  let best: [number, number] = [0, 1];
  let least = [Infinity, Infinity];
  for (let i = 0; i < terms.length; i++) {
    for (let j = i + 1; j < terms.length; j++) {
      const others = terms.filter((_, at) => at !== i && at !== j);
      const wanted = needed(others, output);
      const joined = new Set([...terms[i].labels, ...terms[j].labels]);
      const kept = [...joined].filter((label) => wanted.has(label));
      const cost = [joined.size, kept.length];
      const isBetter = cost[0] < least[0] || (cost[0] === least[0] && cost[1] < least[1]);
      if (!isBetter) continue;
      least = cost;
      best = [i, j];
    }
  }
  return best;
}

/** Two terms multiplied; labels that only they have and nothing needs are summed over. */
function product<T extends Tensor>(a: Term<T>, b: Term<T>, wanted: ReadonlySet<Label>): Term<T> {
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
    // Products of narrow floats are rounded once, when they have been added up.
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

/** The term with its axes in the order of the groups, each group as one axis; none is an axis of 1. */
function grouped<T extends Tensor>(
  term: Term<T>,
  ...groups: readonly (readonly (readonly Label[])[])[]
): T {
  const axes = groups.flat();
  const ordered = arranged(term, axes.flat());
  if (axes.every((group) => group.length === 1)) return ordered;
  return reshape(
    ordered,
    axes.map((group) => sizeOf(group.map((label) => extentOf(term, label)))),
  );
}

/** The array with its axes in this order. */
function arranged<T extends Tensor>({ x, labels }: Term<T>, order: readonly Label[]): T {
  const axes = order.map((label) => labels.indexOf(label));
  return axes.every((from, to) => from === to) ? x : transpose(x, axes);
}
