import type { Stmt } from '../../../loop/language/nodes.js';
import { directBlocks } from './direct.js';
import { planOf } from './plan.js';
import type { Windowed } from './spec.js';
import { overBlocks } from './unit.js';
import { tileRows, winogradBlocks } from './winograd.js';

/** The loops of a convolution (decision 37). */
export function convolveLoops(windows: Windowed): Stmt {
  const { form, rows, columns } = planOf(windows);
  return form === 'direct'
    ? overBlocks(windows, directBlocks(windows, rows, columns), rows, columns)
    : overBlocks(windows, winogradBlocks(windows, rows, columns), rows * tileRows, columns);
}
