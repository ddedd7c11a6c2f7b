/** The test folders (or files, by prefix) that answer for a folder of `src`. Golden texts are no tests. */
export const rooms = {
  passes: ['passes', 'laws', 'runtime/threads/barriers', 'contract/control'],
  loop: ['loop', 'codegen', 'laws'],
  codegen: ['codegen', 'laws'],
  runtime: ['runtime'],
  front: ['front', 'contract'],
  ops: ['ops', 'laws', 'passes'],
  formats: ['formats', 'onnx', 'nn/array-files'],
};
