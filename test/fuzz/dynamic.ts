import { kindOf } from '../../src/base/dtype.js';
import { type Known } from './pool.js';
import type { Ref } from './program.js';
import type { Scene } from './scene.js';

/** What is called with arrays as sizes. */
export type SizeAction = 'zerosBy' | 'onesBy' | 'arangeBy' | 'reshapeBy' | 'broadcastBy';

export const sizeActions: readonly SizeAction[] = [
  'zerosBy',
  'onesBy',
  'arangeBy',
  'reshapeBy',
  'broadcastBy',
];

export function isBySizes(op: string): boolean {
  return (sizeActions as readonly string[]).includes(op);
}

/** Adds a call whose sizes are elements of an array, and the steps that make the array. */
export function withSizes(scene: Scene, action: SizeAction): void {
  const { choices } = scene.setting;
  const call = (op: string, ...args: readonly (Ref | Ref[] | number | number[])[]): Ref | null => {
    const made = scene.call(op, args)?.[0];
    return made === undefined ? null : { ref: made.id };
  };
  if (action === 'reshapeBy' || action === 'broadcastBy') {
    const small = scene.pool.filter(({ isTame, arrays }) => isTame && arrays.every(({ size, ndim }) => size <= 40 && ndim > 0)); // prettier-ignore
    if (small.length === 0) return;
    const source = choices.late(small);
    const shape = call('shapeOf', { ref: source.id });
    if (shape === null) return;
    if (action === 'reshapeBy') {
      const turned = choices.chance(0.5) ? call('flip', shape, 0) : shape;
      if (turned !== null) call('reshapeBy', { ref: source.id }, turned);
      return;
    }
    const scalars = scene.pool.filter(({ isTame, arrays }) => isTame && arrays[0].ndim === 0);
    if (scalars.length > 0) call('broadcastBy', { ref: choices.late(scalars).id }, shape);
    return;
  }
  const count = countIn(scene);
  if (count === null) return;
  if (action === 'arangeBy') call('arangeBy', count);
  else {
    const other = choices.chance(0.5) ? countIn(scene) : null;
    const shape = call('stack', other === null ? [count] : [count, other]);
    if (shape !== null) call(action, shape);
  }
}

/** A small number that data decides: one there is, or how much of something is true. */
function countIn(scene: Scene): Ref | null {
  const { choices } = scene.setting;
  const isCount = ({ dtype, arrays, low, high }: Known): boolean => kindOf(dtype) === 'int' && arrays[0].ndim === 0 && low >= 0 && high <= 6 && high > low; // prettier-ignore
  const counts = scene.pool.filter(isCount);
  if (counts.length > 0 && choices.chance(0.6)) return { ref: choices.late(counts).id };
  const masks = scene.pool.filter(({ dtype, arrays }) => dtype === 'bool' && arrays.every(({ size }) => size <= 12)); // prettier-ignore
  if (masks.length === 0) return null;
  const made = scene.call('countNonzero', [{ ref: choices.late(masks).id }])?.[0];
  return made === undefined ? null : { ref: made.id };
}
