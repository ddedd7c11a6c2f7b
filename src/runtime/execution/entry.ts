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
import { mark } from '../profile/recorder.js';

/**
 * Runs `main` of a module on the table at an address of device memory. `gain` is the work that several
 * threads would save (`ProgramPlan.gain`, for the sizes of this run); modules for one thread ignore it.
 */
export type EntryPoint = (table: number, gain: number) => void;

/** A way to run modules on the CPU. */
export interface ModuleRunner {
  /** Target of lowering. */
  readonly target: Target;
  /** Makes a module callable, for a number of threads. */
  entry(module: Module, device: Device, threads?: number): EntryPoint;
}

/** The address of the memory's first byte, from which a `main` with conditions reads them. */
const wholeMemory = 0;
const wideWholeMemory = BigInt(wholeMemory);

/** Shared by all programs, so that each kernel is optimized once. */
const optimizedKernels = new KernelCache();

/** Exactly what was lowered: nothing between the lowering and the definition of the loop IR. */
const interpreter: ModuleRunner = {
  target: wasmTarget,
  entry: (module, device) => {
    const { params } = module.kernels.find(({ name }) => name === mainName)!;
    const { addresses } = device;
    return (table) => {
      const tables = addresses === 'i64' ? [table, table] : [table];
      const others = [wholeMemory, wholeMemory, wholeMemory, 0, 1];
      const args = [...tables, ...others].slice(0, params.length);
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
      const { memory, isShared, addresses } = device;
      const compiled = compileModule(optimized, { shared: isShared, relaxed, addresses });
      const { exports } = new WebAssembly.Instance(compiled, { env: { memory, mark } });
      const main = exports[mainName] as WasmKernel;
      // With 64 bits, the table is passed twice: as words and as addresses.
      if (threads === 1) {
        if (addresses === 'i32') return (table) => main(table, wholeMemory, wholeMemory);
        return (table) => {
          const at = BigInt(table);
          main(at, at, wideWholeMemory, wideWholeMemory);
        };
      }
      const { pool } = device;
      const meeting = addresses === 'i64' ? BigInt(pool.meetingAddress) : pool.meetingAddress;
      const own: TeamEntry =
        addresses === 'i32'
          ? (table, thread, count) => main(table, wholeMemory, wholeMemory, meeting, thread, count)
          : (table, thread, count) => {
              const at = BigInt(table);
              main(at, at, wideWholeMemory, wideWholeMemory, meeting, thread, count);
            };
      return pool.entry({ kind: 'wasm', module: compiled, addresses }, own, threads);
    },
  };
}

const strictWasm = wasm(wasmTarget);
const relaxedWasm = wasm(relaxedWasmTarget);

/** Runner of a program. */
export function runnerFor({ target = 'wasm', relaxed }: CompileOptions): ModuleRunner {
  if (target === 'interpreter') return interpreter;
  return (relaxed ?? wantsRelaxed()) && supportsRelaxed() ? relaxedWasm : strictWasm;
}

/** False when the environment says so (`KAON_RELAXED=0`). */
function wantsRelaxed(): boolean {
  return environmentVariable('KAON_RELAXED') !== '0';
}
