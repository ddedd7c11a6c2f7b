import type { BufferBackend } from '../../runtime/memory/backend.js';
import { backendNamed, detours, mayMeet, newArrays } from '../../runtime/execution/backends.js';
import { Storage } from '../../runtime/memory/storage.js';
import { mode } from '../core/mode.js';
import { NDArray } from '../core/ndarray.js';

/** True for an array on a device that promises elements, and so sizes that they decide. */
export function answersLater({ elements }: NDArray): boolean {
  return elements?.backend?.answersAtOnce === false;
}

/** A new array, on the device where new arrays live. Those that the device cannot hold stay on the CPU. */
export function onDefaultDevice<A extends NDArray>(array: A): A {
  const { backend } = newArrays;
  if (backend !== null && mode.capture === null) moveElements(array, backend);
  return array;
}

/**
 * Runs code whose new arrays and draws live where some values do, rather than where new arrays live: on the device that
 * has one of the arrays among them, else on the CPU. Captured ones live where their program runs.
 */
export function placedBeside<R>(values: readonly unknown[], make: () => R): R {
  if (!detours.devices || mode.capture !== null) return make();
  const { backend } = newArrays;
  const storages = values.flatMap((value) =>
    value instanceof NDArray ? (value.elements ?? []) : [],
  );
  if (storages.length > 0) {
    newArrays.backend = storages.find((storage) => storage.backend !== null)?.backend ?? null;
  }
  try {
    return make();
  } finally {
    newArrays.backend = backend;
  }
}

/** Moves a new array to the device of another one, as integers that it can hold. */
export function besideOther(array: NDArray, { elements }: NDArray): NDArray {
  const backend = elements === null ? null : elements.backend;
  if (backend === null || mode.capture !== null) return array;
  const isHeld = backend.limits.dtypes.has(array.dtype);
  const moved = isHeld || array.dtype !== 'int64' ? array : array.astype('int32');
  moveElements(moved, backend);
  return moved;
}

/**
 * Moves state that a program updates to the device of its other operands: an optimizer keeps its state from before a
 * network was moved. Nothing where these are not on one device.
 */
export function moveState(operands: readonly NDArray[], state: readonly NDArray[]): void {
  const others = operands.filter((operand) => !state.includes(operand) && operand.ndim > 0);
  const [backend] = others.flatMap(({ storage }) => storage.backend ?? []);
  if (backend === undefined) return;
  const isOneDevice = others.every((operand) => mayMeet(operand, backend));
  if (isOneDevice) for (const array of state) moveElements(array, backend);
}

/**
 * Moves the elements of an array, which stays the same array, and the gradient that it keeps. Where a device lacks the
 * dtype they stay on the CPU.
 * @throws DeviceError when the device has no room, or when its elements have to be waited for.
 */
function moveElements(array: NDArray, backend: BufferBackend | null): void {
  const { storage } = array;
  if (storage.backend !== backend) {
    if (backend === null) array.elements = new Storage(array.dtype, storage.copy());
    else if (backend.limits.dtypes.has(array.dtype)) array.elements = storage.onBackend(backend);
  }
  array.gradient?.moved((gradient) => {
    const copy = new NDArray(gradient.type, gradient.held);
    moveElements(copy, backend);
    return copy;
  });
}

/**
 * Like `moveElements`, to a device of a name.
 * @throws ArgumentError for a name that no device has.
 */
export function moveToDevice(array: NDArray, device: string): void {
  moveElements(array, backendNamed(device, 'to'));
}

/** Like `moveElements` to the CPU, from a device whose elements may have to be waited for. */
export async function fetchElements(array: NDArray): Promise<void> {
  const { storage, gradient } = array;
  const kept = gradient?.value ?? null;
  if (storage.backend !== null) {
    array.elements = new Storage(array.dtype, await storage.read());
  }
  if (kept === null) return;
  await fetchElements(kept);
  gradient!.moved(() => kept);
}
