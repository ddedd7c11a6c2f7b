import { bytesOf, type DType } from '../../base/dtype.js';
import type { ElementKind, Kernel } from '../../loop/language/nodes.js';
import { storageOf } from '../../ops/elements.js';
import { clearKernel, copyKernel, setKernel } from '../../passes/lower/nests/memory-kernels.js';
import type { DeviceBuffer } from '../memory/backend.js';
import type { DeviceQueue } from './queue.js';

/** Elements from a place of a buffer on. */
export interface BufferSlot {
  readonly buffer: DeviceBuffer;
  /** In bytes. */
  readonly offset: number;
}

/*
 * What the host program does to parts of buffers. Backends only copy whole buffers: rows begin at any element, which
 * the commands of a device often cannot reach and kernels can.
 */

const kernels = new Map<string, Kernel>();

/** A kernel for elements of a kind, made once. */
export function kernelNamed(
  name: string,
  storage: ElementKind,
  make: (name: string, storage: ElementKind) => Kernel,
): Kernel {
  const full = `${name}_${storage}`;
  let kernel = kernels.get(full);
  if (kernel === undefined) kernels.set(full, (kernel = make(full, storage)));
  return kernel;
}

/** Makes the elements of an array zero, from one on to another, where a condition of the device holds. */
export function clearElements(
  queue: DeviceQueue,
  storage: ElementKind,
  { buffer, offset }: BufferSlot,
  begin: number,
  end: number,
  condition?: BufferSlot,
): void {
  if (end <= begin) return;
  const clear = kernelNamed('clear', storage, (name, kind) => clearKernel(name, kind, true));
  queue.launch(clear)([{ buffer, offset }, begin, end], condition);
}

/** Copies elements between buffers, or between parts of one that do not overlap. */
export function copyBetween(
  queue: DeviceQueue,
  dtype: DType,
  from: BufferSlot,
  to: BufferSlot,
  length: number,
  condition?: BufferSlot,
): void {
  if (length <= 0) return;
  const isWhole = [from, to].every(
    ({ buffer, offset }) => offset === 0 && buffer.length === length && buffer.dtype === dtype,
  );
  if (isWhole && condition === undefined) return queue.backend.copy(from.buffer, to.buffer);
  const copy = kernelNamed('copy', storageOf(dtype), copyKernel);
  queue.launch(copy)([to, from, length], condition);
}

/** Stores an int32. */
export function storeInteger(
  queue: DeviceQueue,
  to: BufferSlot,
  value: number,
  condition?: BufferSlot,
): void {
  const set = kernelNamed('set', 'i32', (name) => setKernel(name, 'i32'));
  queue.launch(set)([to, value], condition);
}

/** Bytes of elements, as a multiple of what a device wants arrays in one buffer to begin at. */
export function alignedBytes({ limits }: DeviceQueue, dtype: DType, length: number): number {
  const { alignment } = limits;
  return Math.max(Math.ceil((bytesOf(dtype) * length) / alignment), 1) * alignment;
}
