import { sameShape } from '../../../base/dim/index.js';
import type { Shape } from '../../../ir/types.js';
import { matmul } from '../../../ops/index.js';
import type { HloCall } from '../lowering/call.js';
import { dimensionNumbers } from '../lowering/reads.js';
import { type HloValue, isEmpty, mergedAxes, upTo } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';
import { exactly, inWideDType } from './precision.js';
import { hloRule, type RuleEntry } from './rule.js';

export const productRules: readonly RuleEntry[] = [hloRule(matmul, writeProduct)];

/** An operand as a stored value: each axis of the operand is a list of axes of that value. */
interface Grouped {
  readonly value: HloValue;
  readonly groups: readonly (readonly number[])[];
}

/**
 * Writes a matrix product as one `dot_general` that contracts the axes of stored values. Operands are seen through
 * transpositions and through reshapes that merge axes: where rows of time and batch were merged, an array divided
 * along the batch would have to be gathered first.
 */
function writeProduct(call: HloCall): HloValue {
  const { hlo, inputs, outputTypes: [{ dtype, shape }] } = call; // prettier-ignore
  const [x, y] = inputs;
  if (isEmpty(x) || isEmpty(y)) return hlo.splat(dtype, 0, shape);
  const chains = inputs.map((operand) => seenThrough(hlo, operand));
  const last = chains[0].length + chains[1].length - 2;
  // The deepest pairs of views first. A transposition of rows is left where it is if the result would need it instead.
  const pairs = upTo(last + 1).flatMap((depth) =>
    upTo(chains[0].length).flatMap((i) => {
      const [x, y] = [chains[0].at(-1 - i), chains[1].at(-1 - (depth - i))];
      return x === undefined || y === undefined || i > depth ? [] : [[x, y] as const];
    }),
  );
  let deepest: Plan | null = null;
  for (const [x, y] of pairs) {
    const plan = planProduct(call, x, y);
    if (plan?.order.every((axis, i) => axis === i)) return writePlan(call, plan);
    deepest ??= plan;
  }
  return writePlan(call, deepest!);
}

/** The operand itself, then the values that it rearranges. */
function seenThrough(hlo: HloWriter, x: HloValue): readonly Grouped[] {
  const found: Grouped[] = [{ value: x, groups: upTo(x.shape.length).map((axis) => [axis]) }];
  for (;;) {
    const { value, groups } = found[found.length - 1];
    const before = rearranged(hlo, value);
    if (before === null) return found;
    const merged = groups.map((group) => group.flatMap((axis) => before.groups[axis]));
    found.push({ value: before.value, groups: merged });
  }
}

/** The value whose axes another one permutes or merges; null where it does neither. */
function rearranged(hlo: HloWriter, { origin, shape }: HloValue): Grouped | null {
  switch (origin?.kind) {
    case 'transpose':
      return { value: origin.of, groups: origin.order.map((axis) => [axis]) };
    case 'reshape': {
      const groups = mergedAxes(origin.of.shape, shape);
      return groups && { value: origin.of, groups };
    }
    case 'concat': {
      // Equal parts one after the other are the entries of an axis of their own, merged with the one behind it.
      const { parts, axis } = origin;
      const isEven = parts.every((part) => sameShape(part.shape, parts[0].shape));
      if (!isEven || parts[0].shape[axis] === 1) return null;
      const stacked = parts.map((part) => hlo.reshape(part, part.shape.toSpliced(axis, 0, 1)));
      const groups = upTo(shape.length).map((k) => (k < axis ? [k] : k > axis ? [k + 1] : [k, k + 1])); // prettier-ignore
      return { value: hlo.concat(stacked, axis), groups };
    }
    default:
      return null;
  }
}

/** The axes of a product, each with the groups of both operands. */
interface Axes {
  readonly batch: readonly (readonly [readonly number[], readonly number[]])[];
  readonly left: readonly (readonly number[])[];
  readonly right: readonly (readonly number[])[];
}

/** A `dot_general` of stored values, and the places of its axes in the result. */
interface Plan {
  readonly sides: readonly (readonly [HloValue, Shape])[];
  readonly lists: Readonly<Record<string, readonly number[]>>;
  readonly made: Shape;
  readonly order: readonly number[];
}

function writePlan({ hlo, outputTypes: [{ dtype, shape }] }: HloCall, plan: Plan): HloValue {
  const { sides, made, order } = plan;
  const lists = { ...plan.lists };
  const values = sides.map(([value, kept], side) => {
    const laid = laidOutBeforeLoops(hlo, value, kept, side === 0 ? 'lhs' : 'rhs', lists);
    return laid ?? hlo.reshape(value, kept);
  });
  const product = inWideDType(hlo, dtype, values, (operands, wide) =>
    hlo.op(
      'stablehlo.dot_general',
      operands,
      { dtype: wide, shape: made },
      { dot_dimension_numbers: dimensionNumbers('dot', lists), ...exactly(dtype) },
    ),
  );
  return hlo.reshape(hlo.transpose(product, order), shape);
}

/**
 * An operand that is the same in every iteration of a loop, transposed before it as kernels of products want it:
 * contracted along the last axes on the left side, along the first on the right. Otherwise each iteration would do
 * that. Null where there is no loop; `lists` get the new places.
 */
function laidOutBeforeLoops(
  hlo: HloWriter,
  value: HloValue,
  kept: Shape,
  side: 'lhs' | 'rhs',
  lists: Record<string, readonly number[]>,
): HloValue | null {
  const [batch, contracted] = [`${side}_batching_dimensions`, `${side}_contracting_dimensions`];
  const bound = [...lists[batch], ...lists[contracted]];
  const free = upTo(kept.length).filter((axis) => !bound.includes(axis));
  const inner = side === 'lhs' ? [...free, ...lists[contracted]] : [...lists[contracted], ...free];
  const order = [...lists[batch], ...inner];
  const laid = hlo.beforeLoops(value, () => hlo.transpose(hlo.reshape(value, kept), order));
  if (laid === undefined) return null;
  for (const list of [batch, contracted]) lists[list] = lists[list].map((axis) => order.indexOf(axis)); // prettier-ignore
  return laid;
}

/** The product of two views; null where the axes that it contracts or shares are no lists of the same sizes. */
function planProduct({ inputTypes }: HloCall, x: Grouped, y: Grouped): Plan | null {
  const [a, b] = [inputTypes[0].shape, inputTypes[1].shape];
  const inner = [x.groups[a.length - 1], y.groups[Math.max(0, b.length - 2)]];
  const sizes = ({ value }: Grouped, group: readonly number[]): Shape =>
    group.map((axis) => value.shape[axis]).filter((extent) => extent !== 1);
  // Single axes that meet are equal, though perhaps only because the program requires it.
  const isSame = (p: readonly number[], q: readonly number[]): boolean =>
    (p.length === 1 && q.length === 1) || sameShape(sizes(x, p), sizes(y, q));
  if (!isSame(inner[0], inner[1])) return null;
  const rank = Math.max(a.length, b.length, 2) - 2;
  const leads = upTo(rank).map((axis) => [axis - rank + a.length - 2, axis - rank + b.length - 2]);
  const axes = leads.map(([i, j]) => {
    const [p, q] = [x.groups[i] ?? [], y.groups[j] ?? []];
    const [m, n] = [i < 0 ? 1 : a[i], j < 0 ? 1 : b[j]];
    return { p, q, isBatch: m !== 1 && n !== 1, isLeft: n === 1 };
  });
  if (axes.some(({ p, q, isBatch }) => isBatch && !isSame(p, q))) return null;
  const rows = a.length === 1 ? [] : [x.groups[a.length - 2]];
  const columns = b.length === 1 ? [] : [y.groups[b.length - 1]];
  const result: Axes = {
    batch: axes.filter(({ isBatch }) => isBatch).map(({ p, q }) => [p, q]),
    left: [...axes.filter(({ isBatch, isLeft }) => !isBatch && isLeft).map(({ p }) => p), ...rows],
    right: [...axes.filter(({ isBatch, isLeft }) => !isBatch && !isLeft).map(({ q }) => q), ...columns], // prettier-ignore
  };
  // Axes of size 1 take part in no list, and are dropped.
  const [left, right] = [x, y].map((side) => withoutOnes(side));
  const of = (
    side: ReturnType<typeof withoutOnes>,
    groups: readonly (readonly number[])[],
  ): readonly number[] =>
    // prettier-ignore
    groups.flatMap((group) => group.flatMap((axis) => side.places[axis] ?? []));
  const lists = {
    lhs_batching_dimensions: of(left, result.batch.map(([p]) => p)),
    rhs_batching_dimensions: of(right, result.batch.map(([, q]) => q)),
    lhs_contracting_dimensions: of(left, [inner[0]]),
    rhs_contracting_dimensions: of(right, [inner[1]]),
  }; // prettier-ignore
  // A dot_general leaves free axes in the order of its operands.
  const freeLeft = of(left, result.left);
  const freeRight = of(right, result.right);
  const sorted = [freeLeft, freeRight].map((list) => [...list].sort((p, q) => p - q));
  const batchShape = lists.lhs_batching_dimensions.map((axis) => left.shape[axis]);
  const made = [
    ...batchShape,
    ...sorted[0].map((axis) => left.shape[axis]),
    ...sorted[1].map((axis) => right.shape[axis]),
  ];
  // The places in the product of all axes, in the order of the result.
  let batchAt = 0;
  const placed = (
    side: typeof left,
    group: readonly number[],
    list: readonly number[],
    offset: number,
  ): readonly number[] =>
    // prettier-ignore
    of(side, [group]).map((axis) => offset + list.indexOf(axis));
  const afterLeft = batchShape.length + sorted[0].length;
  const order = [
    ...axes.flatMap(({ p, q, isBatch, isLeft }) => {
      if (isBatch) return of(left, [p]).map(() => batchAt++);
      return isLeft ? placed(left, p, sorted[0], batchShape.length) : placed(right, q, sorted[1], afterLeft); // prettier-ignore
    }),
    ...rows.flatMap((group) => placed(left, group, sorted[0], batchShape.length)),
    ...columns.flatMap((group) => placed(right, group, sorted[1], afterLeft)),
  ];
  const sides = [left, right].map(({ value, shape }) => [value, shape] as const);
  return { sides, lists, made, order };
}

/** The shape without axes of size 1, and the place of each of the others. */
function withoutOnes({ value }: Grouped): {
  readonly value: HloValue;
  readonly shape: Shape;
  readonly places: Readonly<Record<number, number>>;
} {
  const kept = upTo(value.shape.length).filter((axis) => value.shape[axis] !== 1);
  return {
    value,
    shape: kept.map((axis) => value.shape[axis]),
    places: Object.fromEntries(kept.map((axis, place) => [axis, place])),
  };
}
