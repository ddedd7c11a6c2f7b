import { instantiate } from '../codegen/wasm/index.js';
import { KernelCache } from '../loop/cache.js';
import { interpret } from '../loop/interpret.js';
import { optimizeModule } from '../loop/module.js';
import type { Module } from '../loop/nodes.js';
import { type Target, wasmTarget } from '../loop/target.js';
import { mainName } from '../passes/lower/main.js';
import type { Device } from './device.js';
import type { CompileOptions } from './executable.js';

/** Runs `main` of a module on the table at an address of the device's memory. */
export type Entry = (table: number) => void;

/** A way to run modules. */
export interface Backend {
  /** What programs are lowered for. */
  readonly target: Target;
  /** Makes a module callable. */
  entry(module: Module, device: Device): Entry;
}

/** The address of the memory's first byte: a `main` with conditions in it looks at them from there. */
const wholeMemory = 0;

/** Shared by all programs: what one has optimised, no other does again. */
const optimizedKernels = new KernelCache();

export const backends: Readonly<Record<NonNullable<CompileOptions['target']>, Backend>> = {
  // Exactly what was lowered: nothing between the lowering and the definition of the loop IR.
  interpreter: {
    target: wasmTarget,
    entry: (module, device) => {
      const { params } = module.kernels.find(({ name }) => name === mainName)!;
      return (table) => {
        const args = params.map((_, i) => (i === 0 ? table : wholeMemory));
        interpret(module, device.buffer, mainName, args);
      };
    },
  },
  wasm: {
    target: wasmTarget,
    entry: (module, device) => {
      const optimized = optimizeModule(module, wasmTarget, optimizedKernels);
      const main = instantiate(optimized, device.memory)[mainName];
      return (table) => main(table, wholeMemory, wholeMemory);
    },
  },
};
