// The tier and the threads of this process, as the variables KAON_TIER and KAON_THREADS ask for them.
import { kn } from '../kaon.mjs';

export const tier = process.env.KAON_TIER ?? 'auto';
const threads = Number(process.env.KAON_THREADS ?? 1);

export const hybridize = (f, options) => kn.hybridize(f, { tier, ...options });

/** @throws Error with the reason where this build has no such tier or no threads */
export function requireTier() {
  if (threads > 1 && !('threads' in kn.config)) throw new Error('this build has no threads');
  const probe = hybridize((x) => x.mul(2).add(1));
  const [found] = probe(kn.array([1])).dataSync();
  if (found !== 3) throw new Error(`2 * 1 + 1 gives ${found}`);
}

/** A case's input as an array of Kaon. */
export const array = ({ data, shape }) =>
  kn.array(data, { shape, ...(data instanceof Int32Array ? { dtype: 'int32' } : {}) });

/** Runs that leave their result unread: eager and compiled code have computed when they return. */
export const computed = (compute) => ({ run: compute, result: () => compute().dataSync() });

/** Numbers one after the other, of arrays or of lists. */
export function joined(parts) {
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
