// Ways to call operators beyond the samples of their declarations: rank 0, broadcasting, axes from the end,
// none and all of them, extents of 0 and 1, sizes that fill vectors and tiles and have a rest.

const t = (shape, options = {}) => ({
  kind: 'array',
  shape,
  dtype: 'float32',
  low: -2,
  high: 2,
  ...options,
});
const at = (...args) => ({ args });

const [rank0, vector, long] = [t([]), t(['n']), t([67])];
const cube = t(['n', 3, 'm']);
const hollow = t([2, 0, 3]);

const reductions = [
  at(t([])), at(vector), at(cube, -2), at(cube, [-3, 2]), at(cube, [], { keepdims: true }), at(cube, [0, 1, 2]),
  at(hollow, 1), at(hollow, 0), at(hollow, -1, { keepdims: true }), at(t([1, 1]), 0), at(t([129, 5]), 0), at(t([5, 257]), 1),
]; // prettier-ignore
const statistics = [
  ...reductions,
  at(t([3, 9], { low: 1000, high: 1004 }), 1), at(t([9, 3], { low: 1000, high: 1004 }), 0),
]; // prettier-ignore
const positions = [
  at(cube, -2),
  at(t([1]), 0),
  at(t([67]), -1),
  at(t([5, 0]), 0),
  at(t([3, 70]), 1),
];
const scans = [
  at(cube, -2),
  at(t([130]), 0),
  at(t([3, 0]), 1),
  at(t([1, 4]), 0),
  at(t([4, 1]), -1),
];
const unary = [at(rank0), at(t([3, 0])), at(t([1, 1, 1])), at(long)];
const binary = [
  at(rank0, vector), at(rank0, rank0), at(t(['n', 1, 'm']), t(['k', 1])), at(t([1, 0]), t([3, 1])), at(long, t([1])), at(t([2, 1, 3]), t([4, 1])),
]; // prettier-ignore
const products = [
  at(t([33, 65]), t([65, 18])), at(t([2, 1, 3, 4]), t([5, 4, 2])), at(t([0, 3]), t([3, 2])), at(t([3, 0]), t([0, 2])),
  at(t([1, 7]), t([7, 1])), at(t([16]), t([16])),
]; // prettier-ignore
const norms = [at(t([1, 5])), at(t([3, 1])), at(t([4, 67]))];

const byName = {
  ...Object.fromEntries(['sum', 'prod', 'all', 'any', 'countNonzero', 'max', 'min', 'mean', 'logsumexp', 'norm'].map((name) => [name, reductions])),
  var: statistics,
  std: statistics,
  ...Object.fromEntries(['argmax', 'argmin', 'sort', 'argsort'].map((name) => [name, positions])),
  ...Object.fromEntries(['cumsum', 'cumprod', 'cummax', 'cummin', 'cummaxPosition', 'cumminPosition', 'softmax', 'logSoftmax'].map((name) => [name, scans])),
  matmul: products,
  pow: [
    ...[0, 1, 2, 3, -1, -3, 0.5, -0.5, 2.5, 1e3].map((exponent) => at(vector, exponent)),
    ...[0, 1, 2, -2, 0.5, Infinity].map((base) => at(base, vector)),
    ...binary,
  ],
  cast: ['bool', 'uint8', 'int8', 'int32', 'int64', 'bfloat16', 'float16', 'float32', 'float64'].map((dtype) => at(vector, dtype)),
  clip: [at(vector, 1, -1), at(vector, -0.5, 0.5), at(vector, t(['n']), t(['n'])), at(rank0, 0, 1), at(vector, -Infinity, Infinity)],
  where: [at(t(['n'], { dtype: 'bool' }), vector, vector), at(t([], { dtype: 'bool' }), vector, 0), at(t([3, 1], { dtype: 'bool' }), t([1, 4]), rank0)],
  topK: [at(t([4, 9]), 9, -1), at(t([6, 2]), 1, -2), at(t([5]), 2, 0, { largest: false })],
  transpose: [at(rank0), at(t([2, 3, 4, 1]), [3, -4, 2, 1])],
  conv: [at(t([2, 3, 11, 13]), t([5, 3, 3, 3]), { padding: 1 }), at(t([1, 4, 9]), t([4, 1, 3]), { groups: 4, strides: 2 }), at(t([0, 2, 5]), t([3, 2, 3])), at(t([1, 2, 6, 6]), t([3, 2, 1, 1]))],
  maxPool: [at(t([1, 2, 7, 9]), 3, { strides: 2, padding: 1 })],
  avgPool: [at(t([1, 2, 7, 9]), 3, { strides: 2, padding: 1 })],
  layerNorm: norms, rmsNorm: norms, l2Normalize: norms,
  attention: [at(t([2, 9, 8]), t([2, 17, 8]), t([2, 17, 5])), at(t([1, 1, 4]), t([1, 1, 4]), t([1, 1, 4]), { causal: true })],
  concat: [at([t([0, 2]), t([3, 2])]), at([vector])],
  gelu: [at(rank0), at(t([3, 0]), { approximate: 'tanh' })],
  split: [at(t([4, 6]), [2, 4], -1)],
  nanToNum: [at(vector)],
  leakyRelu: [at(vector, { slope: 0 }), at(vector, { slope: -1 })],
  polygamma: [at(3, t([3], { low: 0.1, high: 9 }))],
}; // prettier-ignore

/** More samples of an operator, by what its own look like. */
export function furtherSamples({ name, family, samples }) {
  if (Object.hasOwn(byName, name)) return byName[name];
  if (family !== 'elementwise' || samples.length === 0) return [];
  const arrays = samples[0].args.filter((arg) => arg?.kind === 'array').length;
  const others = samples[0].args.length - arrays;
  if (others > 0) return [];
  return (arrays === 1 ? unary : binary).map(({ args }) => ({
    args: args.map((arg, i) => ({
      ...samples[0].args[Math.min(i, arrays - 1)],
      dtype: arg.dtype,
      shape: arg.shape,
    })),
  }));
}
