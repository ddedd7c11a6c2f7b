import { isStatic, subDim } from '../../../base/dim/index.js';
import type { DType } from '../../../base/dtype.js';
import * as e from '../../../loop/language/build.js';
import type { Const, Expr } from '../../../loop/language/nodes.js';
import { normalizeAxis } from '../../../ops/declare/infer.js';
import { computeScalar } from '../../../ops/declare/lowering.js';
import {
  cummax,
  cummaxPosition,
  cummin,
  cumminPosition,
  cumprod,
  cumsum,
  recurrence,
} from '../../../ops/index.js';
import { better, worst } from '../../../ops/reduction/best.js';
import type { HloCall } from '../lowering/call.js';
import { writeLoop } from '../lowering/control.js';
import { scalarDTypes } from '../../../ops/elements.js';
import { HloExpressions } from '../lowering/expressions.js';
import { type HloValue, isEmpty, upTo } from '../language/types.js';
import type { HloWriter } from '../language/writer.js';
import { hloRule, type RuleEntry } from './rule.js';

interface Running {
  readonly axis: number;
  readonly reverse: boolean;
}

interface Cumulative {
  readonly axis: number | null;
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

/** An associative operation on states of several parts. */
interface Monoid {
  readonly neutral: readonly Const[];
  combine(earlier: readonly Expr[], later: readonly Expr[]): readonly Expr[];
}

/**
 * The states after all elements up to each one: rounds that join each state with the one 1, 2, 4 and so on places
 * before it. Sums round as in a tree.
 */
function scanned(
  hlo: HloWriter,
  elements: readonly HloValue[],
  { axis, reverse }: Running,
  { neutral, combine }: Monoid,
): readonly HloValue[] {
  const { shape } = elements[0];
  const all = upTo(shape.length);
  const joined = (
    before: readonly HloValue[],
    states: readonly HloValue[],
  ): readonly HloValue[] => {
    const [earlier, later] = [before, states].map((parts) =>
      parts.map((_, k) => e.variable('state', neutral[k].type.scalar)),
    );
    const known = new Map<Expr, HloValue>([
      ...earlier.map((variable, k) => [variable, before[k]] as const),
      ...later.map((variable, k) => [variable, states[k]] as const),
    ]);
    const expressions = new HloExpressions(hlo, shape, (variable) => ({ value: known.get(variable)!, axes: all })); // prettier-ignore
    return combine(earlier, later).map((part) => expressions.whole(part));
  };
  const length = shape[axis];
  if (!isStatic(length)) {
    const { states } = writeLoop(hlo, {
      first: [hlo.splat('int32', 1), ...elements],
      stackTypes: [],
      // Doubling ends below 0 where the extent is greater than 2^30.
      goesOn: (_, [distance]) =>
        hlo.map('and', [
          hlo.compare('LT', distance, hlo.size(length)),
          hlo.compare('GT', distance, hlo.splat('int32', 0)),
        ]),
      place: (at) => at,
      iterate: (_, [distance, ...states]) => {
        const before = states.map((state, k) => movedFar(hlo, state, neutral[k], { axis, reverse }, distance)); // prettier-ignore
        // As a sum of the distance with itself, XLA 0.10 fails to tell how often the loop runs, and aborts.
        const next = hlo.map('multiply', [distance, hlo.splat('int32', 2)]);
        return { states: [next, ...joined(before, states)], rows: [] };
      },
    });
    return states.slice(1);
  }
  let states = elements;
  for (let distance = 1; distance < length; distance *= 2) {
    const before = states.map((state, k) => moved(hlo, state, neutral[k], axis, reverse ? -distance : distance)); // prettier-ignore
    states = joined(before, states);
  }
  return states;
}

/** Elements moved along an axis by a distance that a scalar gives, less than the extent. */
function movedFar(
  hlo: HloWriter,
  x: HloValue,
  fill: Const,
  { axis, reverse }: Running,
  distance: HloValue,
): HloValue {
  const free = hlo.splat(scalarDTypes[fill.type.scalar], fill.value, x.shape);
  const both = hlo.concat(reverse ? [x, free] : [free, x], axis);
  const start = reverse ? distance : hlo.map('subtract', [hlo.size(x.shape[axis]), distance]);
  const zero = hlo.splat('int32', 0);
  return hlo.dynamicSlice(both, x.shape.map((_, k) => (k === axis ? start : zero)), x.shape); // prettier-ignore
}

/** Elements moved along an axis; the places that become free hold a constant. */
function moved(hlo: HloWriter, x: HloValue, fill: Const, axis: number, by: number): HloValue {
  const widths = x.shape.map((_, k) => (k === axis ? by : 0));
  const back = widths.map((width) => (width === 0 ? 0 : -width));
  return hlo.pad(x, hlo.splat(scalarDTypes[fill.type.scalar], fill.value), widths, back);
}

function cumulativeRule(
  op: typeof cumsum | typeof cumprod,
  neutral: number,
  combine: (a: Expr, b: Expr) => Expr,
): RuleEntry {
  return hloRule<Cumulative>(
    op,
    ({ hlo, inputs: [x], outputTypes: [{ dtype, shape }], attributes }) => {
      const { exclusive, reverse } = attributes;
      const axis =
        attributes.axis === null
          ? 0
          : normalizeAxis(op.declaration.name, attributes.axis, shape.length);
      const scalar = computeScalar(dtype);
      const start = e.constant(scalar, neutral);
      const each =
        x.origin?.kind === 'splat' && dtype === 'int64' && neutral === 0 ? x.origin.value : null;
      if (each !== null && Number(each) === 1 && !reverse) {
        // Sums of ones are how programs number elements.
        const numbers = hlo.iota('int64', shape, axis);
        return exclusive ? numbers : hlo.map('add', [numbers, hlo.splat('int64', 1, shape)]);
      }
      const elements = hlo.convert(hlo.reshape(x, shape), scalarDTypes[scalar]);
      const [totals] = scanned(hlo, [elements], { axis, reverse }, {
      neutral: [start],
      combine: ([a], [b]) => [combine(a, b)],
    }); // prettier-ignore
      const results = exclusive ? moved(hlo, totals, start, axis, reverse ? -1 : 1) : totals;
      return hlo.convert(results, dtype);
    },
  );
}

function extremumRule(
  op: typeof cummax,
  side: 'max' | 'min',
  result: 'value' | 'position',
): RuleEntry {
  return hloRule<Running>(op, ({ hlo, inputs: [x], inputTypes: [type], attributes }) => {
    const { shape, dtype } = type;
    const axis = normalizeAxis(op.declaration.name, attributes.axis, shape.length);
    const along = { axis, reverse: attributes.reverse };
    const least = worst(side, dtype);
    const elements = hlo.convert(x, scalarDTypes[computeScalar(dtype)]);
    if (result === 'value') {
      const [found] = scanned(hlo, [elements], along, {
        neutral: [least],
        combine: ([a], [b]) => [better(side, a, b)],
      });
      return hlo.convert(found, dtype);
    }
    const positions = hlo.iota('int32', shape, axis);
    const [, found] = scanned(hlo, [elements, positions], along, {
      neutral: [least, e.i32(0)],
      combine: ([best, at], [other, place]) => {
        const next = better(side, best, other);
        // Of equal elements the last one counts, and so does the last NaN, which is unequal to itself.
        const isTaken = e.or(e.eq(next, other), e.ne(other, other));
        return [next, e.select(isTaken, place, at)];
      },
    });
    return hlo.convert(found, 'int64');
  });
}

export const scanRules: readonly RuleEntry[] = [
  cumulativeRule(cumsum, 0, e.add),
  cumulativeRule(cumprod, 1, e.mul),
  extremumRule(cummax, 'max', 'value'),
  extremumRule(cummin, 'min', 'value'),
  extremumRule(cummaxPosition, 'max', 'position'),
  extremumRule(cumminPosition, 'min', 'position'),
  hloRule<Running>(recurrence, writeRecurrence),
];

/** A loop along the axis: products of the factors, which a scan would form, may overflow where no state does. */
function writeRecurrence(call: HloCall<Running>): HloValue {
  const { hlo, inputs, outputTypes: [{ dtype, shape }], attributes } = call; // prettier-ignore
  const axis = normalizeAxis(recurrence.declaration.name, attributes.axis, shape.length);
  const wide: DType = scalarDTypes[computeScalar(dtype)];
  const order = [axis, ...upTo(shape.length).filter((k) => k !== axis)];
  const [a, b] = inputs.map((x) => hlo.convert(hlo.transpose(x, order), wide));
  const [length, ...rest] = b.shape;
  const rows = [a, b].map((x) => hlo.withoutEmptyAxes(x, [0]));
  const [product, sum] = dtype === 'bool' ? ['and', 'or'] : ['multiply', 'add'];
  const { stacks } = writeLoop(hlo, {
    first: [hlo.splat(wide, 0, rest), hlo.splat('bool', 1)],
    stackTypes: [{ dtype: wide, shape: b.shape }],
    goesOn: (at) => hlo.compare('LT', at, hlo.sizeSplat('int32', length)),
    place: (at) => attributes.reverse ? hlo.map('subtract', [hlo.sizeSplat('int32', subDim(length, 1)), at]) : at, // prettier-ignore
    iterate: (place, [before, isFirst]) => {
      const [factor, term] = rows.map((x) => hlo.row(x, place));
      const next = hlo.map(sum, [hlo.map(product, [factor, before]), term]);
      const state = isEmpty({ shape: rest }) ? next : hlo.map('select', [hlo.broadcast(isFirst, rest, []), term, next], wide); // prettier-ignore
      return { states: [state, hlo.splat('bool', 0)], rows: [state] };
    },
  });
  const back = upTo(order.length).map((k) => order.indexOf(k));
  return hlo.convert(hlo.transpose(stacks[0], back), dtype);
}
