import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cpu } from '../../../src/runtime/memory/device.js';

/** What a test measures in a process of its own: there nobody else allocates, and `gc` is at hand. */
export type Case = () => unknown;

/** Which of its file's cases this process is to run; undefined in the process that tests. */
const wanted = process.env['KAON_MEMORY_CASE'];

/** `KAON_LONG_TESTS=1` asks for loops ten times as long. */
export const isLong: boolean = process.env['KAON_LONG_TESTS'] === '1';

/**
 * Runs the case that this process was started for and prints what it found. False in the process that
 * tests, where nothing is run.
 */
export async function servedCase(cases: Readonly<Record<string, Case>>): Promise<boolean> {
  if (wanted === undefined) return false;
  console.log(JSON.stringify(await cases[wanted]()));
  return true;
}

/**
 * Flags that leave code to the engine's interpreter. Its compilers come when they have time: what they make grows the
 * heap by half a megabyte long after a loop has begun, and while they work they keep alive what nothing else refers to.
 */
export const interpreted: readonly string[] = ['--no-opt', '--no-maglev', '--no-sparkplug'];

/** What a case of a test file finds in a process of its own, which may have more of Node's flags. */
export function inChild<R>(file: string, name: string, flags: readonly string[] = []): R {
  const child = spawnSync(process.execPath, ['--expose-gc', ...flags, fileURLToPath(file)], {
    env: { ...process.env, KAON_MEMORY_CASE: name },
    encoding: 'utf8',
  });
  assert.equal(child.status, 0, child.stderr);
  return JSON.parse(child.stdout) as R;
}

/** What is in use, in bytes; `modules` counts compiled WebAssembly modules. */
export interface Footprint {
  readonly heap: number;
  /** Of typed arrays, which lie beside the heap. */
  readonly buffers: number;
  /** Regions of the device's memory that are taken. */
  readonly device: number;
  /** What the device's memory has grown to. */
  readonly deviceSize: number;
  readonly modules: number;
}

const gc = (globalThis as unknown as { readonly gc: () => void }).gc;

let deviceBytes = 0;
let modules = 0;

/** Counts what the device hands out and what is compiled, from now on. */
export function startCounting(): void {
  const sizes = new Map<number, number>();
  const [take, release] = [cpu.take.bind(cpu), cpu.release.bind(cpu)];
  cpu.take = (bytes) => {
    const address = take(bytes);
    sizes.set(address, bytes);
    deviceBytes += bytes;
    return address;
  };
  cpu.release = (address) => {
    release(address);
    deviceBytes -= sizes.get(address) ?? 0;
  };
  const collected = new FinalizationRegistry<null>(() => modules--);
  WebAssembly.Module = class extends WebAssembly.Module {
    constructor(bytes: BufferSource) {
      super(bytes);
      modules++;
      collected.register(this, null);
    }
  };
}

/** What is in use now, garbage collected but without a pause: finalizers have no chance to run. */
export function footprint(): Footprint {
  // Buffers are freed beside the program; the next collection waits for that.
  for (let i = 0; i < 4; i++) gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return {
    heap: heapUsed,
    buffers: arrayBuffers,
    device: deviceBytes,
    deviceSize: cpu.buffer.byteLength,
    modules,
  };
}

/**
 * How much more is in use in the later half of equally distant footprints than in the earlier one. What
 * the engine has not given back yet comes on top and goes again, so the least of each half is compared: a
 * leak raises every later one.
 */
export function growth(footprints: readonly Footprint[], field: keyof Footprint): number {
  const middle = Math.ceil(footprints.length / 2);
  const least = (of: readonly Footprint[]): number => Math.min(...of.map((taken) => taken[field]));
  return least(footprints.slice(middle)) - least(footprints.slice(0, middle));
}

/** Collects garbage with pauses, in which finalizers run, until they have nothing left to give back. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 6; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function settledFootprint(): Promise<Footprint> {
  await settle();
  return footprint();
}
