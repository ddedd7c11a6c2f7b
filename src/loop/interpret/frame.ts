import { DeviceError } from '../../base/errors.js';
import { storageBytes } from '../language/build.js';
import type { Buffer, ElementKind } from '../language/nodes.js';
import type { Lane } from '../language/scalar.js';
import type { GroupMemory } from './group-memory.js';

/** A vector, or one lane. */
export type LaneValue = Lane | readonly Lane[];

export type View =
  Float32Array | Float64Array | Int32Array | BigInt64Array | Int8Array | Uint8Array | Uint16Array;

/** One memory, seen as elements of each kind. */
export type MemoryViews = Readonly<Record<ElementKind, View>>;

const memories = new WeakMap<ArrayBufferLike, MemoryViews>();

export function memoryOf(bytes: ArrayBufferLike): MemoryViews {
  let memory = memories.get(bytes);
  if (memory === undefined || memory.u8.length !== bytes.byteLength) {
    const whole = (storage: ElementKind): number =>
      Math.floor(bytes.byteLength / storageBytes(storage));
    memory = {
      f32: new Float32Array(bytes, 0, whole('f32')),
      f64: new Float64Array(bytes, 0, whole('f64')),
      i32: new Int32Array(bytes, 0, whole('i32')),
      i64: new BigInt64Array(bytes, 0, whole('i64')),
      i8: new Int8Array(bytes),
      u8: new Uint8Array(bytes),
      u16: new Uint16Array(bytes, 0, whole('u16')),
    };
    memories.set(bytes, memory);
  }
  return memory;
}

/** One of the threads of a team, by its number. */
export interface Member {
  readonly index: number;
  readonly count: number;
  /** Chooses the orders in which invocations of a workgroup run between two barriers. Default 0: ascending. */
  readonly seed?: number;
}

/** A buffer in a memory of its own: where it begins in that, in bytes. */
export interface BufferArgument {
  readonly memory: MemoryViews;
  readonly address: number;
}

/** One activation of a kernel. */
export interface Frame {
  /** Memory of buffers that are given by their addresses. */
  readonly memory: MemoryViews;
  /** The memory of each buffer, as its elements, by slot. */
  readonly views: View[];
  /** Locals and shared subexpressions, by slot. */
  readonly values: LaneValue[];
  /** Start of each buffer, in its own elements, by slot. */
  readonly bases: number[];
  readonly member: Member;
  /** The invocation of a workgroup that this is, and the memory of the group by slot; null outside of workgroups. */
  readonly workgroup: {
    readonly invocation: number;
    readonly memory: readonly GroupMemory[];
  } | null;
}

/** The first element of a buffer, from its byte address. */
export function baseElement(kernel: string, buffer: Buffer, address: number): number {
  const bytes = storageBytes(buffer.storage);
  if (!(Number.isInteger(address) && address >= 0 && address % bytes === 0)) {
    throw new DeviceError(`kernel ${kernel} was given a bad address for buffer ${buffer.name}`, {
      op: 'interpret',
      expected: `a multiple of ${bytes}`,
      actual: String(address),
    });
  }
  return address / bytes;
}

export function outOfBounds(kernel: string, buffer: Buffer, index: number): never {
  throw new DeviceError(`kernel ${kernel} went out of the bounds of buffer ${buffer.name}`, {
    op: 'interpret',
    actual: `index ${index}`,
  });
}
