import * as e from '../../../loop/language/build.js';
import type { ElementKind, Kernel } from '../../../loop/language/nodes.js';
import type { AddressScalar } from '../../../loop/language/target.js';
import { overRange } from '../../../loop/language/team.js';

/** Makes elements zero: those of `to` from `begin` to `end`, which are a parallel range if `isDivided`. */
export function clearKernel(name: string, storage: ElementKind, isDivided: boolean): Kernel {
  const to = e.buffer('to', storage);
  const [begin, end] = [e.variable('begin', 'i32'), e.variable('end', 'i32')];
  const scalar = e.loadedScalar(storage);
  const body = overRange(isDivided, { begin, end }, 1, (part) =>
    e.forLoop('k', part.begin, part.end, (k) => e.store(to, k, e.constant(scalar, 0)), {
      mode: 'vector',
    }),
  );
  return e.kernel(name, [to, begin, end], body);
}

/** Stores a value as the first element of `to`. */
export function setKernel(name: string, scalar: AddressScalar): Kernel {
  const to = e.buffer('to', scalar);
  const value = e.variable('value', scalar);
  return e.kernel(name, [to, value], e.store(to, 0, value));
}

/** Copies the first `count` elements of `from` to `to`, as a parallel range. */
export function copyKernel(name: string, storage: ElementKind): Kernel {
  const [to, from] = [e.buffer('to', storage), e.buffer('from', storage)];
  const count = e.variable('count', 'i32');
  const body = overRange(true, { begin: e.i32(0), end: count }, 1, ({ begin, end }) =>
    e.forLoop('k', begin, end, (k) => e.store(to, k, e.load(from, k))),
  );
  return e.kernel(name, [to, from, count], body);
}
