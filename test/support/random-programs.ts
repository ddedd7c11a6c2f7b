import type { Dim } from '../../src/base/dim/index.js';
import { sameShape } from '../../src/base/dim/index.js';
import type { DType } from '../../src/base/dtype.js';
import { broadcastShapes } from '../../src/ops/declare/infer.js';
import { Program, type Value } from '../../src/ir/program.js';
import * as elementwise from '../../src/ops/elementwise/index.js';
import * as movement from '../../src/ops/movement/index.js';
import * as reduction from '../../src/ops/reduction/index.js';

/** One way to make a value out of others; null where it does not apply. */
export type Step = (x: Value, y: Value, k: number) => Value | null;

const binary =
  (f: (x: Value, y: Value) => Value): Step =>
  (x, y) =>
    broadcasts(x, y) ? f(x, y) : null;

function broadcasts(x: Value, y: Value): boolean {
  let isCertain = true;
  try {
    broadcastShapes('test', [x.type.shape, y.type.shape], (condition) => {
      isCertain &&= condition === true;
    });
    return isCertain;
  } catch {
    return false;
  }
}

const axisOf = (x: Value, k: number): number => k % Math.max(1, x.type.shape.length);

/** Elementwise steps whose results are rounded. */
const rounding: readonly Step[] = [
  (x) => elementwise.exp(elementwise.clip(x, -4, 2)),
  (x) => elementwise.sqrt(elementwise.abs(x)),
  (x) => elementwise.sin(x),
  binary((x, y) => elementwise.div(x, elementwise.add(elementwise.square(y), 1))),
];

/** Elementwise steps that keep small integers exact. */
const exact: readonly Step[] = [
  binary((x, y) => elementwise.add(x, y)),
  binary((x, y) => elementwise.sub(x, y)),
  binary((x, y) => elementwise.maximum(x, elementwise.neg(y))),
  binary((x, y) => elementwise.where(elementwise.less(x, y), x, elementwise.add(y, 1))),
  (x) => elementwise.clip(elementwise.mul(x, 2), -50, 50),
];

const moving: readonly Step[] = [
  (x) => movement.transpose(x),
  (x, _y, k) => movement.expandDims(x, axisOf(x, k)),
  (x) => (x.type.shape.includes(1) ? movement.squeeze(x) : null),
  (x) => movement.flatten(x),
  (x, _y, k) => (x.type.shape.length === 0 ? null : movement.flip(x, axisOf(x, k))),
  (x, y, k) =>
    x.type.shape.length > 0 && sameShape(x.type.shape, y.type.shape)
      ? movement.concat([x, y, x], axisOf(x, k))
      : null,
  (x, _y, k) =>
    x.type.shape.length === 0
      ? null
      : movement.pad(
          x,
          x.type.shape.map((_, axis) => (axis === axisOf(x, k) ? [1, 2] : [0, 0])),
        ),
];

const folding: readonly Step[] = [
  (x, _y, k) => reduction.sum(clipped(x), x.type.shape.length === 0 ? null : axisOf(x, k)),
  (x, _y, k) =>
    x.type.shape.length === 0 ? null : reduction.sum(clipped(x), axisOf(x, k), { keepdims: true }),
  (x) => reduction.sum(clipped(x)),
  (x, _y, k) =>
    x.type.shape.length === 0
      ? null
      : reduction.sum(elementwise.greater(x, 0), axisOf(x, k), { keepdims: true }),
];

const clipped = (x: Value): Value => elementwise.clip(x, -8, 8);

export const stepKinds: Readonly<
  Record<'exact' | 'rounding' | 'moving' | 'folding', readonly Step[]>
> = { exact, rounding, moving, folding };

/** A choice: which step, which of the values made so far, and a number for the step's own use. */
export type Choice = readonly [step: number, x: number, y: number, k: number];

/**
 * The program that a list of choices spells. Its inputs broadcast against each other; its outputs are
 * the last value and every third one. Values of other dtypes are cast back to that of the inputs.
 */
export function spelledProgram(
  dtype: DType,
  [rows, columns]: readonly [Dim, Dim],
  kinds: readonly (keyof typeof stepKinds)[],
  choices: readonly Choice[],
): Program {
  const steps = kinds.flatMap((kind) => stepKinds[kind]);
  const program = new Program();
  const shapes = [[rows, columns], [columns], [rows, 1], [], [rows, columns]];
  const values = shapes.map((shape, i) => program.variable(`x${i}`, { dtype, shape }));
  for (const [step, x, y, k] of choices) {
    const [left, right] = [
      values.at(-1 - (x % values.length))!,
      values.at(-1 - (y % values.length))!,
    ];
    const made = steps[step % steps.length](left, right, k);
    if (made === null || made.type.shape.length > 4) continue;
    values.push(made.type.dtype === dtype ? made : elementwise.cast(made, dtype));
  }
  const kept = values.filter((_, i) => i === values.length - 1 || (i >= 5 && i % 3 === 0));
  program.setOutputs(kept.map((value, i) => ({ name: `y${i}`, value })));
  return program;
}
