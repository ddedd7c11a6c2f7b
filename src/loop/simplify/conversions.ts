import * as e from '../language/build.js';
import type { Scalar } from '../language/nodes.js';
import { hole, type ExprLaw, law } from './pattern.js';

const all: readonly Scalar[] = ['f32', 'f64', 'i32', 'i64', 'bool'];

/** A lossless cast may be skipped on the way to a third type. */
function through(from: Scalar, middle: Scalar): readonly ExprLaw[] {
  return all
    .filter((to) => to !== middle)
    .map((to) =>
      law(
        `${from}-${middle}-${to}`,
        `${to}(${middle}(x)) = ${to}(x) for x of ${from}: ${middle} holds every ${from}.`,
        [from],
        (x) => [e.cast(to, e.cast(middle, x)), e.cast(to, x)],
      ),
    );
}

/** Laws of choices and of changes of type. */
export const conversionLaws: readonly ExprLaw[] = [
  law('select-true', 'select(true, x, y) = x.', all, (x, y) => [
    e.select(e.constant('bool', 1), x, y),
    x,
  ]),
  law('select-false', 'select(false, y, x) = x.', all, (x, y) => [
    e.select(e.constant('bool', 0), y, x),
    x,
  ]),
  law('select-same', 'select(c, x, x) = x.', all, (x) => [e.select(hole('c', 'bool'), x, x), x]),
  law('select-not', 'select(not c, x, y) = select(c, y, x).', all, (x, y) => {
    const c = hole('c', 'bool');
    return [e.select(e.not(c), x, y), e.select(c, y, x)];
  }),
  law('select-bool', 'select(x, true, false) = x.', ['bool'], (x) => [
    e.select(x, e.constant('bool', 1), e.constant('bool', 0)),
    x,
  ]),
  law('select-not-bool', 'select(x, false, true) = not x.', ['bool'], (x) => [
    e.select(x, e.constant('bool', 0), e.constant('bool', 1)),
    e.not(x),
  ]),
  ...through('f32', 'f64'),
  ...through('i32', 'i64'),
  ...through('i32', 'f64'),
  ...(['f32', 'f64', 'i32', 'i64'] as const).flatMap((middle) => through('bool', middle)),
  ...(['f32', 'f64', 'i32', 'i64'] as const).map((number) =>
    law(`${number}-unequal-zero`, `(${number}(x) != 0) = x for a bool.`, ['bool'], (x) => [
      e.ne(e.cast(number, x), 0),
      x,
    ]),
  ),
  law('bits-f32', 'The bits of x, read as its own type, are x.', ['f32'], (x) => [
    e.bitcast('f32', e.bitcast('i32', x)),
    x,
  ]),
  law('bits-f64', 'The bits of x, read as its own type, are x.', ['f64'], (x) => [
    e.bitcast('f64', e.bitcast('i64', x)),
    x,
  ]),
];
