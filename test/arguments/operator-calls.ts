import * as kn from '../../src/index.js';
import type { World } from './world.js';

/** A right call of every operator. */

/** A call, and what users do with its result: the arguments of a wrapped function meet their mistakes there. */
export interface Base {
  readonly receiver?: object;
  readonly args: readonly unknown[];
  readonly use?: (result: unknown) => unknown;
}

export type Maker = (world: World) => readonly unknown[] | Base;

export const unary: Maker = ({ x }) => [x];
export const binary: Maker = ({ x, v }) => [x, v];
const integers: Maker = ({ int }) => [int, int];

const program = ({ x }: World): object => {
  const a = x.add(0);
  const y = kn.deferredCompute(() => kn.tanh(a));
  return kn.exportGraph({ inputs: { a }, outputs: { y } }).program;
};

export const operators: Readonly<Record<string, Maker>> = {
  bitwiseAnd: integers,
  bitwiseOr: integers,
  bitwiseXor: integers,
  bitwiseNot: ({ int }) => [int],
  leftShift: integers,
  rightShift: integers,
  cast: ({ x }) => [x, 'int32'],
  clip: ({ x }) => [x, 0, 1],
  polygamma: ({ x }) => [1, x],
  where: ({ bool, x, v }) => [bool, x, v],
  broadcastTo: ({ v }) => [v, [2, 3]],
  recurrence: ({ x }) => [x, x],
  reshape: ({ x }) => [x, [3, 2]],
  expandDims: ({ x }) => [x, 0],
  shard: ({ x }) => [x, ['data', null]],
  squeeze: ({ image }) => [image, 0],
  moveaxis: ({ seq }) => [seq, 0, 1],
  swapaxes: ({ seq }) => [seq, 0, 1],
  transpose: ({ seq }) => [seq, [2, 0, 1]],
  slice: ({ seq }) => [seq, 0, [1, 3], null, '...'],
  sliceAdjoint: ({ v }) => [v, [2, 3], [0, '...']],
  dimLike: ({ x }) => [x, 3],
  eye: () => [3, 2, { k: 1 }],
  fill: () => [[2, 3], 1.5],
  fullLike: ({ x }) => [x, 2],
  iota: () => [4],
  concat: ({ x }) => [[x, x], 1],
  stack: ({ x }) => [[x, x], 1],
  split: ({ x }) => [x, 3, 1],
  tile: ({ x }) => [x, [2, 1]],
  repeat: ({ x }) => [x, 2, 1],
  roll: ({ x }) => [x, 1, 1],
  diagonal: ({ sq }) => [sq],
  diagonalAdjoint: ({ v }) => [v, [3, 3], 0, 0, 1],
  tril: ({ sq }) => [sq],
  triu: ({ sq }) => [sq],
  pad: ({ x }) => [x, [1, 1]],
  padAdjoint: ({ sq }) => [sq, [1, 1], 1, 'edge'],
  shift: ({ x }) => [x, 1],
  meshgrid: ({ v }) => [[v, v]],
  take: ({ x, zeroOne }) => [x, zeroOne],
  takeAdjoint: ({ x, zeroOne }) => [x, zeroOne, [4, 3], { axis: 0 }],
  gather: ({ x, zeroOne }) => [x, zeroOne.reshape([2, 1]), 1],
  scatter: ({ x, zeroOne, v }) => [x, zeroOne.reshape([2, 1]), v.slice([0, 2]).reshape([2, 1]), 1],
  scatterAdd: ({ x, zeroOne, v }) => [x, zeroOne.reshape([2, 1]), v.slice([0, 2]).reshape([2, 1]), 1], // prettier-ignore
  oneHot: ({ zeroOne }) => [zeroOne, 3],
  classPosition: ({ zeroOne }) => [zeroOne, 3, { ignoreIndex: 2 }],
  withSizes: ({ x }) => [x, x.shape, 'f'],
  argselect: ({ x }) => [x, 2],
  topK: ({ x }) => [x, 2],
  searchsorted: ({ v, x }) => [v, x],
  cummaxPosition: ({ x }) => [x, 1],
  cumminPosition: ({ x }) => [x, 1],
  cummax: ({ x }) => [x, 1],
  cummin: ({ x }) => [x, 1],
  conv: ({ image }) => [image, kn.ones([3, 2, 2, 2]), { padding: 1 }],
  convTranspose: ({ image }) => [image, kn.ones([2, 3, 2, 2]), { strides: 2 }],
  convWeightGradient: ({ image }) => [image, kn.ones([1, 3, 3, 3]), { kernel: [2, 2], strides: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 }], // prettier-ignore
  conv1d: ({ seq }) => [seq, kn.ones([3, 4, 2])],
  conv2d: ({ image }) => [image, kn.ones([3, 2, 2, 2])],
  conv3d: ({ image }) => [image.reshape([1, 2, 1, 4, 4]), kn.ones([3, 2, 1, 2, 2])],
  convTranspose1d: ({ seq }) => [seq, kn.ones([4, 3, 2])],
  convTranspose2d: ({ image }) => [image, kn.ones([2, 3, 2, 2])],
  convTranspose3d: ({ image }) => [image.reshape([1, 2, 1, 4, 4]), kn.ones([2, 3, 1, 2, 2])],
  einsum: ({ x, sq }) => ['ij,jk->ik', x, sq],
  tensordot: ({ x, sq }) => [x, sq, 1],
  dot: ({ v }) => [v, v],
  outer: ({ v }) => [v, v],
  matmul: ({ x, sq }) => [x, sq],
  turnedProduct: ({ sq }) => [sq, sq, { left: false, right: true }],
  maxPool: ({ image }) => [image, 2],
  avgPool: ({ image }) => [image, 2],
  maxPool1d: ({ seq }) => [seq, 2],
  maxPool2d: ({ image }) => [image, 2],
  maxPool3d: ({ image }) => [image.reshape([1, 2, 1, 4, 4]), [1, 2, 2]],
  avgPool1d: ({ seq }) => [seq, 2],
  avgPool2d: ({ image }) => [image, 2],
  avgPool3d: ({ image }) => [image.reshape([1, 2, 1, 4, 4]), [1, 2, 2]],
  adaptiveAvgPool: ({ image }) => [image, 3],
  adaptiveMaxPool: ({ image }) => [image, 3],
  adaptiveAvgPool1d: ({ seq }) => [seq, 2],
  adaptiveAvgPool2d: ({ image }) => [image, [null, 3]],
  adaptiveAvgPool3d: ({ image }) => [image.reshape([1, 2, 1, 4, 4]), [1, 3, 2]],
  adaptiveMaxPool1d: ({ seq }) => [seq, 2],
  adaptiveMaxPool2d: ({ image }) => [image, [null, 3]],
  adaptiveMaxPool3d: ({ image }) => [image.reshape([1, 2, 1, 4, 4]), [1, 3, 2]],
  exchangeBins: ({ image }) => [image.reshape([1, 2, 2, 8]), [3]],
  slidingWindows: ({ image }) => [image, [2, 2]],
  slidingWindowsAdjoint: ({ image }) => [kn.slidingWindows(image, [2, 2]), [4, 4], { kernel: [2, 2], strides: [1, 1], padding: [[0, 0], [0, 0]], dilation: [1, 1] }], // prettier-ignore
  windowCounts: ({ image }) => [image, { kernel: [2, 2], strides: [1, 1], padding: [[0, 0], [0, 0]], dilation: [1, 1] }, [[0, 0], [0, 0]]], // prettier-ignore
  attention: ({ seq }) => [seq, seq, seq],
  attentionGradient: ({ seq }) => [seq, seq, seq, seq, null, { causal: false, scale: 1 }],
  batchNorm: ({ x, v }) => [x, v, v, v, v],
  batchNormTraining: ({ x, v }) => [x, v, v],
  groupNorm: ({ image }) => [image, 2],
  instanceNorm: ({ image }) => [image],
  layerNorm: ({ x, v }) => [x, v, v],
  rmsNorm: ({ x, v }) => [x, v],
  randomBits: ({ state }) => [state, [2]],
  randomInteger: ({ state }) => [state, [2], { low: 0, high: 5 }],
  randomNormal: ({ state }) => [state, [2]],
  randomUniform: ({ state }) => [state, [2]],
  call: (world) => [program(world), world.x],
  withGradient: (world) => [program(world), program(world), world.x],
  countedPositions: ({ labels }) => [labels, 3],
  unravelIndex: ({ zeroOne }) => [zeroOne, [2, 3]],
  booleanMask: ({ x, bool }) => [x, bool],
  extents: ({ labels }) => [labels],
  runStarts: ({ x, zeroOne }) => [x, zeroOne],
  keptBoxes: ({ boxes, v }) => [boxes, v, kn.array([2, 1, 0], { dtype: 'int64' })],
  nonMaxSuppression: ({ boxes, v }) => [boxes, v],
  dynamicSlice: ({ x, zeroOne }) => [x, zeroOne, [1, 2]],
  updateSlice: ({ x, zeroOne }) => [x, kn.zeros([1, 2]), zeroOne],
  completedSizes: ({ labels }) => [labels, 2],
  openExtents: ({ labels }) => [labels, 2],
  repeatEach: ({ v, labels }) => [v.slice([0, 2]), labels],
  stretchTo: ({ v }) => [v, [3], 'add'],
};
