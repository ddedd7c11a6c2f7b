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

const stateOfArray = (array: kn.NDArray): unknown => [
  array.dtype,
  array.shape,
  [...array.dataSync()].map(String),
  array.grad === null ? null : [...array.grad.dataSync()].map(String),
];

/** What a thing that a call works on holds, as far as it can be asked. */
function stateOf(thing: unknown): unknown {
  if (thing instanceof kn.NDArray) return kn.isDeferred(thing) ? null : stateOfArray(thing);
  if (thing instanceof kn.nn.Parameter) return [thing.shape, thing.dtype, thing.isInitialized ? stateOfArray(thing.value) : null]; // prettier-ignore
  if (thing instanceof kn.nn.Block) return [...thing.parameters()].map(([name, parameter]) => [name, stateOf(parameter)]); // prettier-ignore
  if (thing instanceof kn.optim.Optimizer) {
    const { arrays, steps } = thing.state();
    const trained = [...thing.parameters.values()].map(stateOf);
    return [steps, trained, [...arrays].map(([name, slot]) => [name, stateOfArray(slot)])];
  }
  if (thing instanceof kn.data.Loader) return thing.state();
  if (thing instanceof Map) return [...(thing as ReadonlyMap<unknown, unknown>)].map(([key, value]) => [String(key), stateOf(value)]); // prettier-ignore
  return null;
}

const textOf = (state: unknown): string =>
  JSON.stringify(state, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));

/** What the receiver and the right arguments of a call hold, as text. */
export function statesOf(things: readonly unknown[]): string {
  return textOf(things.map(stateOf));
}

/** What nobody but a valid call may change, as text. */
export function snapshot(world: World): string {
  const arrays = Object.values(world as unknown as Record<string, kn.NDArray>).map(stateOfArray);
  const { useStaticGraph, tier, threads } = kn.config;
  const random = kn.random.getState();
  const modes = [kn.autograd.isRecording(), kn.autograd.isTraining(), kn.isDeferred(kn.add(world.x, 1))]; // prettier-ignore
  return textOf([arrays, useStaticGraph, tier, threads, random, modes]);
}
