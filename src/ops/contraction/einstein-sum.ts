import * as attr from '../../base/attributes/attribute.js';
import { type Dim, isStatic } from '../../base/dim/index.js';
import { ArgumentError, ShapeError } from '../../base/errors.js';
import {
  checkArgument,
  eitherRule,
  integerFrom,
  valueRule,
  type ValueRule,
} from '../../base/attributes/options.js';
import type { Shape, Tensor } from '../../ir/types.js';
import {
  type DefaultTensor,
  type Input,
  operator,
  type OperatorFunction,
  tensor,
} from '../declare/declare.js';
import { mul } from '../elementwise/arithmetic.js';
import { normalizeAxis, shapeToString } from '../declare/infer.js';
import { diagonalAdjoint } from '../movement/diagonal.js';
import { reshape } from '../movement/reshape.js';
import { broadcastTo } from '../reduction/sum.js';
import type { Binary } from '../signatures.js';
import { contractTerms, type LabeledTensor, withoutRepeats } from './contract-terms.js';
import { type Equation, type Label, labelMeetings, readEquation } from './equation.js';
import { inputShape } from './window.js';

/**
 * Einstein summation: the products of the operands' elements, summed over every axis that the output lacks.
 * `einsum('ij,jk->ik', a, b)` is a matrix product, `'ii->i'` a diagonal, `'bhqd,bhkd->bhqk'` attention
 * scores. A letter names an axis, twice in one operand its diagonal; `...` stands for any axes, which
 * broadcast, as extents of 1 do; without `->` the output is the ellipsis and every letter that occurs once,
 * alphabetically. As in NumPy, dtypes are promoted, and sums keep the promoted dtype.
 *
 * Throws an `ArgumentError` for a malformed equation and a `ShapeError` where operands do not fit it.
 */
export const einsum: OperatorFunction<
  <T extends Tensor = DefaultTensor>(equation: string, ...operands: readonly Input<T>[]) => T
> = operator({
  name: 'einsum',
  family: 'contraction',
  precision: 'float32',
  attributes: { equation: attr.string },
  method: false,
  call: (equation, ...operands) => {
    if (operands.length > 0) return { inputs: operands, attributes: { equation } };
    throw new ArgumentError('there is nothing to multiply', {
      op: 'einsum',
      expected: 'an equation and at least one operand',
      actual: 'no operand',
    });
  },
  infer: ({ inputs, attributes: { equation } }) => {
    const { output, extents } = readEquation(
      'einsum',
      equation,
      inputs.map(({ shape }) => shape),
    );
    return [{ dtype: inputs[0].dtype, shape: output.map((label) => extents.get(label)!) }];
  },
  meetings: (shapes, { equation }) => labelMeetings('einsum', equation, shapes),
  gradient: ({ inputs, grads: [g], needs, attributes: { equation } }) => {
    const read = readFor(equation, inputs);
    return inputs.map((_, at) => (needs[at] ? operandGradient(read, inputs, g!, at) : null));
  },
  lowering: {
    kind: 'decompose',
    decompose: ({ inputs, attributes: { equation } }) => {
      const { operands, output } = readFor(equation, inputs);
      return [contractTerms(termsOf(operands, inputs), output)];
    },
  },
  samples: [
    { args: ['ij,jk->ik', tensor(['n', 'k']), tensor(['k', 'm'])] },
    { args: ['bij,bkj->bik', tensor(['b', 2, 'k']), tensor(['b', 3, 'k'])] },
    { args: ['ii->i', tensor(['n', 'n'])] },
    { args: ['iij', tensor(['n', 'n', 2])] },
    { args: ['i,j', tensor(['n']), tensor(['m'])] },
    { args: ['i,i->', tensor(['n']), tensor(['n'])] },
    { args: ['...ij,...jk', tensor(['b', 2, 'k']), tensor([3, 1, 'k', 2])] },
    { args: ['ij,jk,kl->il', tensor(['n', 3]), tensor([3, 'k']), tensor(['k', 2])] },
    { args: ['ij,kj->k', tensor(['n', 4]), tensor([2, 1])] },
    {
      args: ['ij,j->i', tensor(['n', 3], { dtype: 'int32' }), tensor([3], { dtype: 'int64' })],
    },
  ],
});

function readFor(equation: string, inputs: readonly Tensor[]): Equation {
  return readEquation(
    'einsum',
    equation,
    inputs.map(({ type }) => type.shape),
  );
}

function termsOf<T extends Tensor>(
  operands: readonly (readonly Label[])[],
  inputs: readonly T[],
): readonly LabeledTensor<T>[] {
  return inputs.map((x, i) => withoutRepeats(x, operands[i]));
}

/**
 * The sum is linear in each operand, so its gradient is another sum of products, with the output's gradient
 * in the operand's place. Axes that only the operand has are repeated, broadcast ones summed.
 */
function operandGradient<T extends Tensor>(
  { operands, output }: Equation,
  inputs: readonly T[],
  g: T,
  at: number,
): T {
  const own = withoutRepeats(inputs[at], operands[at]);
  const { shape } = own.x.type;
  const others = termsOf(operands, inputs).toSpliced(at, 1);
  const elsewhere = new Set([...output, ...others.flatMap(({ labels }) => labels)]);
  const stays = own.labels.map((label, axis) => elsewhere.has(label) && shape[axis] !== 1);
  const kept = own.labels.filter((_, axis) => stays[axis]);
  const found = contractTerms([{ x: g, labels: output }, ...others], kept);
  const extents = found.type.shape[Symbol.iterator]();
  const aligned = reshape(
    found,
    stays.map((stay): Dim => (stay ? (extents.next().value as Dim) : 1)),
  );
  return ontoDiagonals(broadcastTo(aligned, shape), inputs[at].type.shape, operands[at]);
}

/** The adjoint of `withoutRepeats`: zero off the diagonals. */
function ontoDiagonals<T extends Tensor>(
  g: T,
  shape: T['type']['shape'],
  labels: readonly Label[],
): T {
  const second = labels.findIndex((label, axis) => labels.indexOf(label) < axis);
  if (second < 0) return g;
  const first = labels.indexOf(labels[second]);
  const isOther = (_: unknown, axis: number): boolean => axis !== first && axis !== second;
  const inner = ontoDiagonals(
    g,
    [...shape.filter(isOther), shape[second]],
    [...labels.filter(isOther), labels[second]],
  );
  return diagonalAdjoint(inner, shape, 0, first, second);
}

const pairedAxes: ValueRule<number | readonly [readonly number[], readonly number[]]> = eitherRule(
  integerFrom(0),
  valueRule(
    'two lists of integers',
    (value): value is readonly [readonly number[], readonly number[]] =>
      Array.isArray(value) && value.length === 2 && attr.list(attr.ints).accepts(value),
  ),
);

/**
 * Contraction of axes of both operands: their number (the last ones of `x`, the first of `y`), or two lists
 * of axes to pair, which have equal sizes. The result has the other axes of `x`, then those of `y`. Default 2.
 */
export function tensordot<T extends Tensor = DefaultTensor>(
  x: Input<T>,
  y: Input<T>,
  axes: number | readonly [readonly number[], readonly number[]] = 2,
): T {
  const op = 'tensordot';
  checkArgument(op, 'axes', axes, pairedAxes);
  const shapes = [x, y].map((operand) => inputShape(operand, op));
  const ranks = shapes.map(({ length }) => length);
  const refuse = (actual: string): ArgumentError =>
    new ArgumentError('the axes do not match', {
      op,
      expected: `as many axes of x as of y, at most ${Math.min(...ranks)}, each of them once`,
      actual,
    });
  if (typeof axes === 'number' && axes > Math.min(...ranks)) throw refuse(`${axes} and ${axes}`);
  const [own, others] =
    typeof axes === 'number'
      ? [range(axes, ranks[0] - axes), range(axes, 0)]
      : axes.map((list, side) => list.map((axis) => normalizeAxis(op, axis, ranks[side])));
  if (own.length !== others.length) throw refuse(`${own.length} and ${others.length}`);
  if ([own, others].some((list) => new Set(list).size !== list.length)) throw refuse(attr.describe(axes)); // prettier-ignore
  own.forEach((axis, at) => checkPair(op, [axis, others[at]], shapes));
  const left = range(ranks[0], 0).map(letter);
  const right = range(ranks[1], ranks[0]).map(letter);
  own.forEach((axis, at) => (right[others[at]] = left[axis]));
  const kept = [
    ...left.filter((_, axis) => !own.includes(axis)),
    ...right.filter((_, axis) => !others.includes(axis)),
  ];
  return einsum(`${left.join('')},${right.join('')}->${kept.join('')}`, x, y);
}

/** Refuses to contract an axis of `x` with one of `y` that has another size. `einsum` would repeat an extent of 1. */
function checkPair(op: string, axes: readonly number[], shapes: readonly Shape[]): void {
  const [size, other] = shapes.map((shape, side) => shape[axes[side]]);
  if (size === other || !(isStatic(size) || isStatic(other))) return;
  throw new ShapeError('the sizes to sum over differ', {
    op,
    expected: `${size} along axis ${axes[1]} of y, as axis ${axes[0]} of x has`,
    actual: shapes.map(shapeToString).join(' and '),
  });
}

/**
 * NumPy's `dot`: the inner product of vectors, the product of matrices, `mul` with a scalar; otherwise the
 * contraction of the last axis of `x` and the second to last of `y` (or its only one).
 */
export const dot: Binary = (x, y) => {
  const shapes = [x, y].map((operand) => inputShape(operand, 'dot'));
  const [left, right] = shapes.map(({ length }) => length);
  if (left === 0 || right === 0) return mul(x, y);
  checkPair('dot', [left - 1, Math.max(right - 2, 0)], shapes);
  return tensordot(x, y, [[left - 1], [Math.max(right - 2, 0)]]);
};

/** Every element of `x` times every element of `y`: `[size of x, size of y]`. */
export const outer: Binary = (x, y) => mul(reshape(x, [-1, 1]), reshape(y, [1, -1]));

function range(count: number, start: number): number[] {
  return Array.from({ length: Math.max(count, 0) }, (_, at) => start + at);
}

function letter(at: number): string {
  return 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'[at];
}
