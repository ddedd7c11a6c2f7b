import * as e from '../../../loop/build.js';
import type { Expr } from '../../../loop/nodes.js';
import { knownAs } from '../known.js';
import { exponential } from './exponential.js';

/** 1 / (1 + e^-x) of a float expression. */
export function logistic(x: Expr): Expr {
  const decay = exponential(e.neg(e.abs(x)));
  return knownAs('Sigmoid', [x], e.div(e.select(e.lt(x, 0), decay, 1), e.add(decay, 1)));
}
