import type { Operator } from '../../ir/operator.js';
import type { Target } from '../../loop/language/target.js';
import { type DeviceTarget, kernelFor, type KernelTable } from '../../ops/declare/kernels.js';
import {
  argselect,
  argsort,
  argsortRows,
  attention,
  attentionGradient,
  conv,
  convTranspose,
  convWeightGradient,
  matmul,
} from '../../ops/index.js';
import { attentionLoops } from './attention/attention.js';
import { attentionGradientLoops } from './attention/gradient.js';
import { convLoops, convWeightGradientLoops } from './convolution/convolution.js';
import { convTransposeLoops } from './convolution/transpose.js';
import { cpuNests } from './nests.js';
import { productOf } from '../contraction/matmul.js';
import { contract, leastBytesForKept } from './product/contract.js';
import { scanKernels } from '../scans.js';
import { scanInOrder } from './scan/scan.js';
import { sortLoops } from './sorting/merge-sort.js';
import { sortRowsLoops } from './sorting/rows.js';
import { selectLoops } from './sorting/selection.js';

/** The kernels of processors with vector registers and caches. */
export const cpuKernels: KernelTable = new Map([
  kernelFor(matmul, (context) => contract(productOf(context))),
  kernelFor(conv, convLoops),
  kernelFor(convTranspose, convTransposeLoops),
  kernelFor(convWeightGradient, convWeightGradientLoops),
  kernelFor(attention, attentionLoops),
  kernelFor(attentionGradient, attentionGradientLoops),
  kernelFor(argsort, sortLoops),
  kernelFor(argselect, selectLoops),
  kernelFor(argsortRows, sortRowsLoops),
  ...scanKernels(scanInOrder),
]);

const choosesBySizes: ReadonlySet<Operator> = new Set([matmul.declaration]);

/** A processor with these kernels. */
export function onCpu(target: Target): DeviceTarget {
  return {
    ...target,
    kernels: cpuKernels,
    nests: cpuNests,
    choosesBySizes,
    leastKept: leastBytesForKept,
  };
}
