export {
  compileModule,
  encodeModule,
  instantiateModule,
  type WasmKernel,
  type WasmOptions,
} from './module.js';
export { reservedBytes } from './select/memory.js';
export { supportsMemory64 } from './memory64.js';
export { supportsRelaxed } from './relaxed.js';
