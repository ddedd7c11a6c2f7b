import { environmentVariable } from '../../base/node.js';
import { compileModule, supportsRelaxed, type WasmKernel } from '../../codegen/wasm/index.js';
import { KernelCache } from '../../loop/optimize/cache.js';
import { interpret } from '../../loop/interpret/interpret.js';
import { optimizeModule } from '../../loop/optimize/module.js';
import type { Module } from '../../loop/language/nodes.js';
import { relaxedWasmTarget, type Target, wasmTarget } from '../../loop/language/target.js';
import { mainName } from '../../passes/lower/main/main.js';
import type { Device } from '../memory/device.js';
import type { CompileOptions } from './executable.js';
import type { TeamEntry } from '../threads/recipe.js';

/**
 * Runs `main` of a module on the table at an address of the device's memory. `gain` is what several threads
 * would save (`Plan.gain`, for the sizes of this run); it is nothing to a module for one.
 */
export type Entry = (table: number, gain: number) => void;

/** A way to run modules on the CPU. */
export interface ModuleRunner {
  /** What programs are lowered for. */
  readonly target: Target;
  /** Makes a module, which is for some number of threads, callable. */
  entry(module: Module, device: Device, threads?: number): Entry;
}

/** The address of the memory's first byte: a `main` with conditions in it looks at them from there. */
const wholeMemory = 0;

/** Shared by all programs: what one has optimized, no other does again. */
const optimizedKernels = new KernelCache();

/** Exactly what was lowered: nothing between the lowering and the definition of the loop IR. */
const interpreter: ModuleRunner = {
  target: wasmTarget,
  entry: (module, device) => {
    const { params } = module.kernels.find(({ name }) => name === mainName)!;
    return (table) => {
      const args = [table, wholeMemory, wholeMemory, wholeMemory, 0, 1].slice(0, params.length);
      interpret(module, device.buffer, mainName, args);
    };
  },
};

function wasm(target: Target): ModuleRunner {
  const relaxed = target.fusesMultiplyAdd;
  return {
    target,
    entry: (module, device, threads = 1) => {
      const optimized = optimizeModule(module, target, optimizedKernels);
      const { memory, isShared } = device;
      const compiled = compileModule(optimized, { shared: isShared, relaxed });
      const { exports } = new WebAssembly.Instance(compiled, { env: { memory } });
      const main = exports[mainName] as WasmKernel;
      if (threads === 1) return (table) => main(table, wholeMemory, wholeMemory);
      const { pool } = device;
      const own: TeamEntry = (table, thread, count) =>
        main(table, wholeMemory, wholeMemory, pool.meetingAddress, thread, count);
      return pool.entry({ kind: 'wasm', module: compiled }, own, threads);
    },
  };
}

const strictWasm = wasm(wasmTarget);
const relaxedWasm = wasm(relaxedWasmTarget);

/** What runs a program. */
export function runnerFor({ target = 'wasm', relaxed }: CompileOptions): ModuleRunner {
  if (target === 'interpreter') return interpreter;
  return (relaxed ?? wantsRelaxed()) && supportsRelaxed() ? relaxedWasm : strictWasm;
}

/** Not where the environment says so (`KAON_RELAXED=0`). */
function wantsRelaxed(): boolean {
  return environmentVariable('KAON_RELAXED') !== '0';
}
