import assert from 'node:assert/strict';
import * as kn from '../../../../src/index.js';
import { fromOnnx, toOnnx, type ToOnnxOptions } from '../../../../src/onnx.js';

export type Arrays = Readonly<Record<string, kn.NDArray>>;

export interface AgreeOptions extends ToOnnxOptions {
  /** The sizes that are to be symbolic, by input. Default none. */
  readonly dynamic?: Readonly<Record<string, readonly (string | null)[] | null>>;
}

/** Asserts that two arrays have one dtype and shape, and elements that are equal up to rounding. */
export function assertClose(actual: kn.NDArray, expected: kn.NDArray, what: string): void {
  assert.equal(actual.dtype, expected.dtype, `${what}: dtype`);
  assert.deepEqual(actual.shape, expected.shape, `${what}: shape`);
  const [have, want] = [actual, expected].map((array) =>
    kn.reshape(array, [-1]).astype('float64').tolist(),
  ) as [number[], number[]];
  want.forEach((value, i) => {
    const isClose =
      Object.is(value, have[i]) ||
      value === have[i] ||
      Math.abs(value - have[i]) <= 1e-5 * Math.max(1, Math.abs(value));
    assert.ok(isClose, `${what}: element ${i} is ${have[i]}, not ${value}`);
  });
}

/**
 * Exports what `f` computes, captured with the first of the inputs, reads the model again, and asserts that
 * it gives what eager code gives for each of them. Returns the model.
 */
export function agrees(
  f: (inputs: Arrays) => Arrays,
  feeds: readonly Arrays[],
  { dynamic, ...options }: AgreeOptions = {},
): Uint8Array {
  const shapes =
    dynamic &&
    Object.fromEntries(Object.keys(feeds[0]).map((name) => [name, dynamic[name] ?? null]));
  const captured = kn.hybridize(f, shapes === undefined ? {} : { dynamic: [shapes] });
  captured(feeds[0]);
  const graph = captured.graphFor(feeds[0]);
  const bytes = toOnnx(graph, options);
  const model = fromOnnx(bytes);
  assert.deepEqual(model.outputNames, graph.outputNames);
  assert.deepEqual(model.inputNames, graph.inputNames);
  feeds.forEach((inputs, i) => {
    const expected = f(inputs);
    const given = Object.fromEntries(
      model.inputNames.map((name) => [name, inputs[name.split('.').at(-1)!]]),
    );
    const found = model.run(given);
    for (const [name, array] of Object.entries(expected)) {
      assertClose(found[name], array, `inputs ${i}, output ${name}`);
    }
  });
  return bytes;
}
