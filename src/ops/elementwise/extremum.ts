import * as attr from '../../base/attributes/attribute.js';
import type { Tensor } from '../../ir/types.js';
import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  type Sample,
  tensor,
} from '../declare/declare.js';
import { inferElementwise } from '../declare/infer.js';
import {
  callOf,
  example,
  floatDTypes,
  inEitherOrder,
  type Law,
  numericDTypes,
} from '../declare/law.js';
import { elementwise } from '../declare/lowering.js';
import { sumTo } from '../reduction/sum.js';
import type { Value } from '../../ir/program.js';
import type { Binary } from '../signatures.js';
import { mul } from './arithmetic.js';
import { equal, greater, less, lessEqual } from './comparison.js';
import { logicalOr } from './logic.js';
import { isNaN } from './classification.js';
import { idempotent, neutral } from './laws.js';
import { binaryOperator } from './point.js';
import { where } from './selection.js';

const samples: readonly Sample[] = [
  { args: [tensor(['n', 3], { low: -2, high: 0 }), tensor([3], { low: 0.1 })] },
  { args: [tensor(['n', 3], { low: 0.1 }), tensor(['n', 1], { low: -2, high: 0 })] },
  { args: [tensor(['n'], { dtype: 'int32' }), 0] },
  { args: [tensor(['n'], { dtype: 'bool' }), tensor(['n'], { dtype: 'bool' })] },
];

const greatest = (x: Expr, y: Expr): Expr => (x.type.scalar === 'bool' ? e.or(x, y) : e.max(x, y));
const least = (x: Expr, y: Expr): Expr => (x.type.scalar === 'bool' ? e.and(x, y) : e.min(x, y));

type Extremum = OperatorFunction<Binary>;

const both = [tensor(['n', 3]), tensor([3])];

/** The laws of an extremum, passed as a function since it is declared below. */
const lattice = (name: string, f: () => Extremum): readonly Law[] => [
  idempotent('with-itself', `${name}(x, x) = x`, [
    example([tensor(['n', 3])], (x) => f()<Value>(x, x), numericDTypes),
  ]),
  {
    name: 'again',
    law: `${name}(${name}(x, y), y) = ${name}(x, y), also for NaN`,
    cases: [
      example(both, (x, y) => f()<Value>(f()<Value>(x, y), y), numericDTypes),
      example(both, (x, y) => f()<Value>(x, f()<Value>(x, y)), numericDTypes),
    ],
    apply: ({ inputs }) =>
      inEitherOrder(inputs, (x, y) => (callOf(x, f())?.inputs.includes(y) === true ? x : null)),
  },
];

/** `f(x, limit)` is `x`, also for NaN. */
const unlimited = (words: string, limit: number, f: () => Extremum): Law =>
  neutral('unlimited', words, limit, [
    example([tensor(['n', 3])], (x) => f()<Value>(x, limit), floatDTypes),
  ]);

/** On ties, each operand gets half of the gradient, as in PyTorch. */
const share = <T extends Tensor>(g: T, x: T, y: T, loses: T): T =>
  where(equal(x, y), mul(g, 0.5), where(loses, 0, g));

/** The greater of two elements; NaN if either is. Ties halve the gradient. */
export const maximum: OperatorFunction<Binary> = binaryOperator({
  name: 'maximum',
  value: greatest,
  gradient: [(g, x, y) => share(g, x, y, less(x, y)), (g, x, y) => share(g, x, y, less(y, x))],
  simplify: [
    ...lattice('max', () => maximum),
    unlimited('max(x, -inf) = x', -Infinity, () => maximum),
  ],
  samples,
});

/** The lesser of two elements; NaN if either is. Ties halve the gradient. */
export const minimum: OperatorFunction<Binary> = binaryOperator({
  name: 'minimum',
  value: least,
  gradient: [
    (g, x, y) => share(g, x, y, greater(x, y)),
    (g, x, y) => share(g, x, y, greater(y, x)),
  ],
  simplify: [
    ...lattice('min', () => minimum),
    unlimited('min(x, inf) = x', Infinity, () => minimum),
  ],
  samples,
});

const isNumber = (x: Expr): Expr => e.eq(x, x);

/** The first operand's share: all where the other is NaN, half on ties. */
const firstPart = <T extends Tensor>(g: T, x: T, y: T, loses: T): T =>
  share(g, x, y, where(isNaN(y), false, logicalOr(loses, isNaN(x))));

/** The second operand's share, which is nothing where both are NaN, as in PyTorch. */
const secondPart = <T extends Tensor>(g: T, x: T, y: T, loses: T): T =>
  share(g, y, x, logicalOr(loses, isNaN(y)));

/** The greater of two elements; a number wins against NaN. */
export const fmax: OperatorFunction<Binary> = binaryOperator({
  name: 'fmax',
  value: (x, y) => e.select(isNumber(x), e.select(isNumber(y), greatest(x, y), x), y),
  gradient: [
    (g, x, y) => firstPart(g, x, y, less(x, y)),
    (g, x, y) => secondPart(g, x, y, less(y, x)),
  ],
  simplify: lattice('fmax', () => fmax),
  samples,
});

/** The lesser of two elements; a number wins against NaN. */
export const fmin: OperatorFunction<Binary> = binaryOperator({
  name: 'fmin',
  value: (x, y) => e.select(isNumber(x), e.select(isNumber(y), least(x, y), x), y),
  gradient: [
    (g, x, y) => firstPart(g, x, y, greater(x, y)),
    (g, x, y) => secondPart(g, x, y, greater(y, x)),
  ],
  simplify: lattice('fmin', () => fmin),
  samples,
});

/** `clip(x, lo, hi)`; null means no bound. */
export type Clip = <T extends Tensor = DefaultTensor>(
  x: Input<T>,
  lo: Input<T> | null,
  hi: Input<T> | null,
) => T;

/**
 * `x` clamped to two bounds, arrays or numbers, which broadcast: `min(max(x, lo), hi)`, so `hi` wins where
 * the bounds cross. NaN stays NaN. On a bound the gradient passes to `x`, beyond it to the bound.
 */
export const clip: OperatorFunction<Clip> = operator({
  name: 'clip',
  family: 'elementwise',
  // Bounds that follow `x` among the operands, the lower one first.
  attributes: { below: attr.bool, above: attr.bool },
  call: (x, lo, hi) => ({
    inputs: [x, ...(lo === null ? [] : [lo]), ...(hi === null ? [] : [hi])],
    attributes: { below: lo !== null, above: hi !== null },
  }),
  infer: inferElementwise('clip'),
  gradient: ({ inputs, grads: [g], attributes: { below, above }, needs }) => {
    const x = inputs[0];
    const lo = below ? [inputs[1]] : [];
    const hi = above ? inputs.slice(-1) : [];
    const inside = [...lo.map((bound) => lessEqual(bound, x)), ...hi.map((bound) => lessEqual(x, bound))]; // prettier-ignore
    // Where the bounds cross the upper one wins.
    const raised = lo.map((bound) => [less(x, bound), ...hi.map((top) => lessEqual(bound, top))]);
    const lowered = hi.map((bound) => [
      less(bound, lo.reduce((value, bottom) => maximum(value, bottom), x)),
    ]); // prettier-ignore
    return [inside, ...raised, ...lowered].map((conditions, i) => {
      if (!needs[i]) return null;
      const passed = conditions.reduce((kept, condition) => where(condition, kept, 0), g!);
      return sumTo(passed, inputs[i].type.shape);
    });
  },
  lowering: elementwise<{ readonly below: boolean; readonly above: boolean }>(
    ([x, ...bounds], { attributes: { below, above } }) => {
      const raised = below ? greatest(x, bounds[0]) : x;
      return above ? least(raised, bounds.at(-1)!) : raised;
    },
  ),
  simplify: [
    {
      name: 'unbounded',
      law: 'clip(x, none, none) = x',
      cases: [example([tensor(['n', 3])], (x) => clip(x, null, null), numericDTypes)],
      apply: ({ inputs: [x, ...bounds] }) => (bounds.length === 0 ? x : null),
    },
  ],
  samples: [
    { args: [tensor(['n', 2], { low: -0.9, high: 0.9 }), -1, 1] },
    { args: [tensor(['n', 2], { low: -3, high: -1.1 }), -1, tensor([2], { low: 0 })] },
    { args: [tensor(['n'], { low: 1.1 }), null, 1] },
    { args: [tensor(['n'], { dtype: 'int32', low: -9, high: 9 }), -3, null] },
  ],
});
