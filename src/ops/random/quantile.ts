import * as e from '../../loop/language/build.js';
import type { Expr } from '../../loop/language/nodes.js';
import { logarithm } from '../elementwise/expressions/logarithm.js';
import { type Coefficients, polynomial } from '../elementwise/format.js';

/*
 * The quantiles of the normal distribution (Wichura 1988, Algorithm AS 241, Applied Statistics 37):
 * quotients of polynomials in the middle, the tail and the far tail. PPND7 for f32, PPND16 for f64; their
 * relative errors are 1e-7 and 1e-16.
 */

interface Quotient {
  readonly numerator: Coefficients;
  readonly denominator: Coefficients;
}

const middle: Quotient = {
  numerator: {
    f32: [3.3871327179, 50.434271938, 159.29113202, 59.10937472],
    f64: [
      3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
      45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227,
    ],
  },
  denominator: {
    f32: [1, 17.895169469, 78.757757664, 67.1875636],
    f64: [
      1, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597,
      39307.89580009271, 28729.085735721943, 5226.495278852854,
    ],
  },
}; // prettier-ignore

const tail: Quotient = {
  numerator: {
    f32: [1.4234372777, 2.75681539, 1.3067284816, 0.17023821103],
    f64: [
      1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
      1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
    ],
  },
  denominator: {
    f32: [1, 0.7370016425, 0.12021132975],
    f64: [
      1, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008,
      0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-9,
    ],
  },
}; // prettier-ignore

const farTail: Quotient = {
  numerator: {
    f32: [6.657905115, 3.081226386, 0.42868294337, 0.017337203997],
    f64: [
      6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
      0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-5, 2.0103343992922881e-7,
    ],
  },
  denominator: {
    f32: [1, 0.24197894225, 0.012258202635],
    f64: [
      1, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
      1.8463183175100548e-5, 1.421511758316446e-7, 2.0442631033899397e-15,
    ],
  },
}; // prettier-ignore

const at = (x: Expr, { numerator, denominator }: Quotient): Expr =>
  e.div(polynomial(x, numerator), polynomial(x, denominator));

/** Quantile of the standard normal distribution for a probability in (0, 1/2]: at most 0. */
export function normalQuantile(probability: Expr): Expr {
  const offset = e.sub(probability, 0.5);
  const central = e.mul(offset, at(e.sub(0.180625, e.mul(offset, offset)), middle));
  const depth = e.sqrt(e.neg(logarithm(probability)));
  const far = e.select(e.gt(depth, 5), at(e.sub(depth, 5), farTail), at(e.sub(depth, 1.6), tail));
  return e.select(e.lt(probability, 0.075), e.neg(far), central);
}
