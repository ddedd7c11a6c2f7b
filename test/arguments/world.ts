import * as kn from '../../src/index.js';

/** Arrays that valid calls are made with; no call that throws may change any of them. */
export interface World {
  readonly x: kn.NDArray;
  readonly v: kn.NDArray;
  readonly sq: kn.NDArray;
  readonly seq: kn.NDArray;
  readonly image: kn.NDArray;
  readonly bool: kn.NDArray;
  readonly int: kn.NDArray;
  readonly zeroOne: kn.NDArray;
  readonly labels: kn.NDArray;
  readonly one: kn.NDArray;
  readonly state: kn.NDArray;
  readonly boxes: kn.NDArray;
  /** Has a gradient attached. */
  readonly w: kn.NDArray;
}

export function makeWorld(): World {
  const of = (data: kn.HostValue, dtype: kn.DType = 'float32'): kn.NDArray => kn.array(data, { dtype }); // prettier-ignore
  const ramp = (shape: readonly number[]): kn.NDArray =>
    of(Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => 0.1 + (i % 7) / 10)).reshape(shape); // prettier-ignore
  const w = ramp([2, 3]);
  w.attachGrad();
  return {
    x: ramp([2, 3]),
    v: of([0.25, 0.5, 0.75]),
    sq: ramp([3, 3]),
    seq: ramp([2, 4, 3]),
    image: ramp([1, 2, 4, 4]),
    bool: of([[true, false, true], [false, true, true]], 'bool'), // prettier-ignore
    int: of([[1, 2, 3], [4, 5, 6]], 'int32'), // prettier-ignore
    zeroOne: of([0, 1], 'int32'),
    labels: of([1, 2], 'int32'),
    one: of(0.5),
    state: of([3, 0], 'int64'),
    boxes: of([[0, 0, 1, 1], [0, 0, 0.9, 1], [2, 2, 3, 3]]), // prettier-ignore
    w,
  };
}

/** What nobody but a valid call may change, as text. */
export function snapshot(world: World): string {
  const arrays = Object.values(world as unknown as Record<string, kn.NDArray>).map((array) => [
    array.dtype,
    array.shape,
    [...array.dataSync()].map(String),
    array.grad === null ? null : [...array.grad.dataSync()].map(String),
  ]);
  const { useStaticGraph, tier, threads } = kn.config;
  const random = kn.random.getState();
  const modes = [kn.autograd.isRecording(), kn.autograd.isTraining(), kn.isDeferred(kn.add(world.x, 1))]; // prettier-ignore
  return JSON.stringify([arrays, useStaticGraph, tier, threads, random, modes], (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  ); // prettier-ignore
}
