import { instantiate } from '../codegen/wasm/index.js';
import { KernelCache } from '../loop/cache.js';
import { interpret } from '../loop/interpret.js';
import type { Module } from '../loop/nodes.js';
import { optimizeModule } from '../loop/module.js';
import { mainName } from '../passes/lower/main.js';
import type { Device } from './device.js';
import type { CompileOptions } from './executable.js';

/** Runs `main` of a module on the table at an address of the device's memory. */
export type Entry = (table: number) => void;

/** Bytes of a vector register of the targets. */
export const vectorBytes = 16;

/** The address of the memory's first byte: a `main` with conditions in it looks at them from there. */
const wholeMemory = 0;

/** Shared by all programs: what one has optimised, no other does again. */
const optimizedKernels = new KernelCache();

/** How each target makes a module callable. */
export const entries: Readonly<
  Record<NonNullable<CompileOptions['target']>, (module: Module, device: Device) => Entry>
> = {
  // Exactly what was lowered: nothing between the lowering and the definition of the loop IR.
  interpreter: (module, device) => {
    const { params } = module.kernels.find(({ name }) => name === mainName)!;
    return (table) => {
      const args = params.map((_, i) => (i === 0 ? table : wholeMemory));
      interpret(module, device.buffer, mainName, args);
    };
  },
  wasm: (module, device) => {
    const optimized = optimizeModule(module, { vectorBytes }, optimizedKernels);
    const main = instantiate(optimized, device.memory)[mainName];
    return (table) => main(table, wholeMemory, wholeMemory);
  },
};
