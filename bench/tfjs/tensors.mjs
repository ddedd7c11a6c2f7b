/** Makes tensors of a case's inputs. */
export const tensorWith =
  (tf) =>
  ({ data, shape }) =>
    tf.tensor(data, shape, data instanceof Int32Array ? 'int32' : 'float32');

/** A contestant that computes one tensor; the wasm backend has computed before it returns. */
export const computed = (tf, compute) => ({
  run: () => tf.tidy(compute).dispose(),
  result: () => tf.tidy(compute).data(),
});
