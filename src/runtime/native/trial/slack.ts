import { type DType, isFloat } from '../../../base/dtype.js';
import { exactBits } from '../../../base/numbers.js';
import type { Program } from '../../../ir/program.js';

/** Rounding errors that are accepted, in sums of thousands. */
const wide = 2 ** 10;
/** Narrow floats are only stored; sums are wider, so that a result is off by at most one place. */
const narrow = 2;

/** Relative tolerance of results: by the coarsest float dtype of the program. */
export function slackOf(program: Program): number {
  const slacks = [...floatsOf(program)].map((dtype) => {
    const bits = exactBits(dtype);
    return 2 ** -bits * (bits < exactBits('float32') ? narrow : wide);
  });
  return Math.max(...slacks, 0);
}

function floatsOf(program: Program, found: Set<DType> = new Set()): Set<DType> {
  const add = (dtype: DType): void => {
    if (isFloat(dtype)) found.add(dtype);
  };
  for (const { type } of program.inputs) add(type.dtype);
  for (const [, node] of program.calls()) {
    for (const { dtype } of node.types) add(dtype);
    for (const region of node.regions) floatsOf(region, found);
  }
  return found;
}
