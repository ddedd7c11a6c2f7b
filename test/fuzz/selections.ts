import { isFloat, kindOf } from '../../src/base/dtype.js';
import { isVaried, type Known } from './pool.js';
import type { Argument } from './program.js';
import type { Scene } from './scene.js';

/** Thresholds of which some are above all that there is, so that nothing is selected. */
const thresholds = [-0.5, 0, 0.5, 1];

/**
 * Adds values that the data selects from another one, and what programs make of such: some of what was selected, its
 * distinct elements, its positions, the sum of two that one mask has selected.
 */
export function withSelections(scene: Scene): void {
  const { choices } = scene.setting;
  const sources = scene.pool.filter(({ isTame, arrays }) => isTame && arrays.every(({ ndim, size }) => ndim > 0 && ndim < 4 && size <= 40)); // prettier-ignore
  if (sources.length === 0) return;
  let from = choices.late(sources);
  const mask = maskOf(scene, from);
  if (mask === null) return;
  const first = selected(scene, from, mask);
  if (first === null) return;
  from = first;
  for (let more = choices.below(3); more > 0; more--) from = next(scene, from) ?? from;
  if (choices.chance(0.3)) meet(scene, mask, first);
  // Gradients of these read their results, and not what they are given.
  if (choices.chance(0.5) && isFloat(from.dtype)) from = one(scene, choices.pick(['tanh', 'sigmoid', 'exp']), { ref: from.id }) ?? from; // prettier-ignore
  // A number is of one size whatever was selected: loops carry it, and branches give it.
  if (choices.chance(0.4) && isFloat(from.dtype)) scene.call(choices.pick(['sum', 'prod', 'norm']), [{ ref: from.id }]); // prettier-ignore
}

function one(scene: Scene, op: string, ...args: readonly Argument[]): Known | null {
  const made = scene.call(op, args)?.[0];
  // Sizes that happened to be the same in all trials are not known to be.
  return made !== undefined && scene.pool.includes(made) ? made : null;
}

function selected(scene: Scene, from: Known, mask: Known): Known | null {
  return one(scene, 'booleanMask', { ref: from.id }, { ref: mask.id });
}

/** Something more of what has been selected: some of it, each of its elements once, those at some positions. */
function next(scene: Scene, from: Known): Known | null {
  const { choices } = scene.setting;
  const kind = choices.below(5);
  if (kind === 0) {
    const options = choices.pick<Argument>([{}, { axis: 0 }, { returnInverse: true }, { returnCounts: true, returnIndex: true }]); // prettier-ignore
    return one(scene, 'unique', { ref: from.id }, options);
  }
  if (kind === 1) return one(scene, choices.pick(['cumsum', 'flip', 'sort']), { ref: from.id }, 0);
  const mask = maskOf(scene, from);
  if (mask === null) return null;
  if (kind > 2 || mask.arrays[0].ndim !== 1) return selected(scene, from, mask);
  const positions = one(scene, 'nonzero', { ref: mask.id });
  const flat = positions && one(scene, 'flatten', { ref: positions.id });
  return flat && one(scene, 'take', { ref: from.id }, { ref: flat.id }, { axis: 0 });
}

/** Two selections by one mask, which have one size. */
function meet(scene: Scene, mask: Known, first: Known): void {
  const { choices } = scene.setting;
  const others = scene.pool.filter((known) => known.isTame && covers(mask, known) && kindOf(known.dtype) === kindOf(first.dtype)); // prettier-ignore
  if (others.length === 0) return;
  const second = selected(scene, choices.late(others), mask);
  if (second !== null) scene.call(choices.pick(['add', 'mul', 'sub']), [{ ref: first.id }, { ref: second.id }]); // prettier-ignore
}

/**
 * A mask of the leading axes of a value. In a body rather one from around it, by which every iteration selects equally
 * many: rows of such sizes can be stacked.
 */
function maskOf(scene: Scene, from: Known): Known | null {
  const { choices } = scene.setting;
  const exact = scene.pool.filter((known) => known.taint === 0 && known.isTame && covers(known, from)); // prettier-ignore
  const around = exact.filter(({ id }) => scene.around.has(id));
  const list = around.length > 0 && choices.chance(0.7) ? around : exact;
  const masks = list.filter(({ dtype }) => dtype === 'bool');
  if (masks.length > 0 && choices.chance(0.4)) return choices.late(masks);
  const numbers = list.filter((known) => known.dtype !== 'bool' && isVaried(known));
  if (numbers.length === 0) return null;
  const { id } = choices.late(numbers);
  return one(scene, choices.pick(['greater', 'less']), { ref: id }, choices.pick(thresholds));
}

/** True where the axes of a mask are the leading ones of a value. */
function covers({ extents }: Known, other: Known): boolean {
  return extents.length > 0 && extents.every((extent, axis) => other.extents[axis] === extent);
}
