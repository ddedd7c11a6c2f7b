import { isFloat, kindOf } from '../../src/base/dtype.js';
import { type Known, sameShapes } from './pool.js';
import type { Ref } from './program.js';
import type { Scene } from './scene.js';

/** A value that a body is given: a state, or a row of data. */
export interface Parameter {
  readonly outside: Known;
  readonly inside: Known;
}

/** A value of a state's type: what the body has made, the state itself, another one, or a capture. */
export function nextState(
  scene: Scene,
  { inside }: Parameter,
  states: readonly Parameter[],
): Known {
  const { choices } = scene.setting;
  const { pool, depth } = scene;
  // What an exact body computes of its states before they change would be inexact behind a value from around it.
  const isAlike = (known: Known): boolean =>
    known.dtype === inside.dtype && sameShapes(known, inside) && known.sized < depth && (known.taint === 0 || !scene.isExact); // prettier-ignore
  if (choices.chance(0.1)) return inside;
  if (choices.chance(0.12)) {
    const others = states.map((state) => state.inside).filter(isAlike);
    if (others.length > 0) return choices.pick(others);
  }
  const alike = pool.filter(isAlike);
  const isMixed = choices.chance(0.3);
  const found = isMixed ? mixed(scene, inside) : choices.late(alike);
  if (!isFloat(inside.dtype) || found === inside) return found;
  // Some states are sums.
  return isMixed && choices.chance(0.3) ? found : tamed(scene, found);
}

/** A state with a part of something that the body has made. */
function mixed(scene: Scene, state: Known): Known {
  const { choices, palette } = scene.setting;
  const { pool } = scene;
  const call = (op: string, ...args: readonly (Ref | number | string)[]): Known | undefined =>
    scene.call(op, args)?.[0];
  const ref = { ref: state.id };
  if (kindOf(state.dtype) === 'bool') return call('logicalNot', ref) ?? state;
  if (!isFloat(state.dtype)) return call('add', ref, 1) ?? state;
  const floats = pool.filter(({ dtype, arrays, isTame }) => dtype === palette.float && isTame && arrays.every(({ size }) => size > 0)); // prettier-ignore
  if (floats.length === 0) return state;
  const source = choices.late(floats);
  const part = call(scene.isExact ? 'max' : choices.pick(['mean', 'sum']), {
    ref: source.id,
  });
  const mixed = part && call('add', ref, { ref: part.id });
  const fitting = mixed && mixed.dtype !== state.dtype ? call('cast', { ref: mixed.id }, state.dtype) : mixed; // prettier-ignore
  return fitting !== undefined && sameShapes(fitting, state) ? fitting : state;
}

/** The value between two bounds, so that it does not grow from one iteration to the next. */
function tamed(scene: Scene, known: Known): Known {
  const { choices } = scene.setting;
  const isClipped = known.taint === 0 && choices.chance(0.3);
  const call = (op: string, ...rest: readonly number[]): Known | undefined =>
    scene.call(op, [{ ref: known.id }, ...rest])?.[0];
  if (isClipped) return call('clip', -2, 2) ?? known;
  // Where sines are inexact, exact bodies refuse them.
  return call(choices.pick(['tanh', 'sin'])) ?? call('tanh') ?? known;
}
