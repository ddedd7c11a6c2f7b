/** The test folders (or files, by prefix) that answer for a folder of `src`. Golden texts are no tests. */
export const rooms = {
  base: ['base', 'loop'],
  graph: ['graph', 'ir'],
  ir: ['ir', 'passes'],
  passes: ['passes', 'laws', 'runtime/threads/barriers', 'contract/control'],
  loop: ['loop', 'codegen', 'laws'],
  codegen: ['codegen', 'laws'],
  kernels: ['kernels', 'ops/contraction', 'codegen', 'laws'],
  runtime: ['runtime'],
  source: ['source', 'plugin', 'register'],
  front: ['front', 'contract', 'source'],
  ops: ['ops', 'laws', 'passes'],
  formats: ['formats', 'onnx', 'nn/array-files'],
  nn: ['nn'],
  artifact: ['artifact', 'onnx'],
  scale: ['scale', 'stablehlo'],
};
