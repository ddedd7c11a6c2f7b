import type { Kernel } from '../../loop/language/nodes.js';
import { writtenBuffers } from '../../passes/lower/main/touches.js';
import type { LaunchArgument } from '../device/backend.js';
import { GpuBuffer } from './buffers.js';
import type { BufferPosition } from './commands.js';
import { padded } from './reads.js';

/*
 * Launches with more buffers than a shader may use: some of them lie beside each other in a buffer that all of them
 * share for the length of the launch. Those that a kernel stores to do not lie beside those that it only reads, since
 * what is read there, as sizes are, may have to be the same for all invocations.
 */

/** A buffer in a shared one, from a byte on. */
export interface BufferInPack {
  readonly buffer: GpuBuffer;
  readonly offset: number;
}

/** A shared buffer. */
export interface Pack {
  readonly buffers: BufferInPack[];
  /** True where the buffers in it are stored to. */
  readonly isStored: boolean;
  bytes: number;
}

/** A shared buffer, and the byte where another one begins in it. */
interface PlaceInPack {
  readonly shared: GpuBuffer;
  readonly offset: number;
}

/** Memory in which shared buffers lie. */
export interface PackMemory {
  take(bytes: number): GpuBuffer;
  free(buffer: GpuBuffer): void;
  copy(from: BufferPosition, to: BufferPosition, bytes: number): void;
}

/** Memory of some arguments: what shaders bind. */
interface ArgumentMemory {
  readonly buffers: Set<GpuBuffer>;
  isStored: boolean;
}

/** Buffers in a shared one begin at multiples of so many bytes. */
const alignment = 256;

const alignedBytes = ({ bytes }: GpuBuffer): number => Math.ceil(bytes / alignment) * alignment;

/** Buffers that a kernel may bind, at most: each of its own, beside one for all memory of its invocations. */
export function mostBound({ params }: Kernel, maxStorageBuffers: number): number {
  const hasPrivate = params.some((param) => param.kind === 'buffer' && param.isPrivate);
  return maxStorageBuffers - Number(hasPrivate);
}

/** True where a launch of a kernel may have more buffers than it may bind. */
export function mayNeedPacks({ params }: Kernel, most: number): boolean {
  return params.filter((param) => param.kind === 'buffer' && !param.isPrivate).length > most;
}

/** Shared buffers, of so many bytes at most, for a launch that may bind so many buffers: those of the fewest bytes. */
export function packsFor(
  kernel: Kernel,
  args: readonly LaunchArgument[],
  most: number,
  bufferBytes: number,
): readonly Pack[] {
  const bound = [...boundBy(kernel, args).values()].map((memory) => {
    const bytes = [...memory.buffers].reduce((sum, buffer) => sum + alignedBytes(buffer), 0);
    return { ...memory, bytes };
  });
  let count = bound.length;
  const packs: Pack[] = [];
  for (const { buffers, isStored, bytes } of bound.sort((a, b) => a.bytes - b.bytes)) {
    if (count <= most) break;
    let pack = packs.find((each) => each.isStored === isStored && each.bytes + bytes <= bufferBytes); // prettier-ignore
    if (pack !== undefined) count--;
    else packs.push((pack = { buffers: [], isStored, bytes: 0 }));
    for (const buffer of buffers) {
      pack.buffers.push({ buffer, offset: pack.bytes });
      pack.bytes += alignedBytes(buffer);
    }
  }
  // Nothing is gained by what is alone.
  return packs.filter(({ buffers: [first, ...others] }) =>
    others.some(({ buffer: { id } }) => id !== first.buffer.id),
  );
}

/** The memory of the arguments of a launch, by its numbers. */
function boundBy(kernel: Kernel, args: readonly LaunchArgument[]): ReadonlyMap<number, ArgumentMemory> {
  const stored = writtenBuffers(kernel);
  const bound = new Map<number, ArgumentMemory>();
  kernel.params.forEach((param, k) => {
    const arg = args[k];
    if (typeof arg === 'number' || !('buffer' in arg) || !(arg.buffer instanceof GpuBuffer)) return;
    const { buffer } = arg;
    let memory = bound.get(buffer.id);
    if (memory === undefined) bound.set(buffer.id, (memory = { buffers: new Set(), isStored: false }));
    memory.buffers.add(buffer);
    memory.isStored ||= param.kind === 'buffer' && stored.has(param);
  });
  return bound;
} // prettier-ignore

/** Launches a kernel while some of its buffers are in shared ones. */
export function launchInPacks(
  packs: readonly Pack[],
  args: readonly LaunchArgument[],
  memory: PackMemory,
  launch: (args: readonly LaunchArgument[]) => void,
): void {
  const taken: GpuBuffer[] = [];
  const places = new Map<unknown, PlaceInPack>();
  try {
    for (const { buffers, bytes } of packs) {
      const shared = memory.take(bytes);
      taken.push(shared);
      for (const { buffer, offset } of buffers) {
        const place = { shared, offset };
        places.set(buffer, place);
        // What is stored to may not be stored to everywhere.
        memory.copy(buffer, positionOf(place), padded(buffer.bytes));
      }
    }
    launch(args.map((arg) => placed(arg, places)));
    for (const { buffers } of packs.filter(({ isStored }) => isStored)) {
      for (const { buffer } of buffers) memory.copy(positionOf(places.get(buffer)!), buffer, padded(buffer.bytes));
    }
  } finally {
    for (const each of taken) memory.free(each);
  }
} // prettier-ignore

/** An argument, in its shared buffer where it has one. */
function placed(arg: LaunchArgument, places: ReadonlyMap<unknown, PlaceInPack>): LaunchArgument {
  if (typeof arg === 'number' || !('buffer' in arg)) return arg;
  const place = places.get(arg.buffer);
  if (place === undefined) return arg;
  return { buffer: place.shared, offset: place.offset + arg.offset };
}

function positionOf({ shared: { id, base }, offset }: PlaceInPack): BufferPosition {
  return { id, base: base + offset };
}
