import { type DeviceTarget, kernelFor, type KernelTable } from '../../ops/declare/kernels.js';
import { productNest } from '../../ops/contraction/matmul-nest.js';
import {
  attention,
  conv,
  convTranspose,
  convWeightGradient,
  matmul,
  scatter,
  scatterAdd,
  takeAdjoint,
} from '../../ops/index.js';
import { productOf } from '../contraction/matmul.js';
import { groupedAttention } from './attention/attention.js';
import {
  groupedConv,
  groupedConvTranspose,
  groupedConvWeightGradient,
} from './convolution/convolution.js';
import { kernelCall } from './choices.js';
import { bestExpansions } from './expansion/best.js';
import { attentionExpansions } from './expansion/attention.js';
import { positionExpansions } from './expansion/positions.js';
import { scanExpansions } from './expansion/scan.js';
import { scatterExpansions } from './expansion/scatter.js';
import { sortExpansions } from './expansion/sort.js';
import { splitExpansions } from './expansion/split.js';
import { gpuNests } from './nests.js';
import { groupedProduct } from './product/product.js';
import { scanKernels } from '../scans.js';
import { groupedScan } from './scan/scan.js';
import { gatheringKernel } from './scatter/scatter.js';

/** The kernels of devices whose threads are many and weak, and share memory in groups. */
const gpuKernels: KernelTable = new Map([
  kernelFor(attention, groupedAttention),
  kernelFor(matmul, (context) => {
    const call = kernelCall(matmul, context, true);
    return groupedProduct(productOf(context), call) ?? productNest(context);
  }),
  kernelFor(conv, groupedConv),
  kernelFor(convTranspose, groupedConvTranspose),
  kernelFor(convWeightGradient, groupedConvWeightGradient),
  ...scanKernels(groupedScan),
  ...[scatterAdd, scatter, takeAdjoint].map(gatheringKernel),
]);

/** A GPU: its threads are the lanes, which read and store vectors where elements are neighbors. */
export const gpuTarget: DeviceTarget = {
  name: 'gpu',
  vectorBytes: 16,
  vectorRegisters: 64,
  fusesMultiplyAdd: false,
  productSteps: 1,
  firstCache: 2 ** 14,
  secondCache: 2 ** 20,
  inPlace: 2 ** 30,
  isGrid: true,
  emulatesFloat64: true,
  addresses: 'i32',
  // What follows a kernel's results is in its code once; alone it would be a dispatch, and a way to memory and back.
  longestEpilogue: 256,
  kernels: gpuKernels,
  nests: gpuNests,
  expansions: new Map([
    ...splitExpansions,
    ...bestExpansions,
    ...sortExpansions,
    ...scatterExpansions,
    ...positionExpansions,
    ...scanExpansions,
    ...attentionExpansions,
  ]),
};
