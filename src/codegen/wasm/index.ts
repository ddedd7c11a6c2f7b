export {
  compileModule,
  encodeModule,
  instantiate,
  type WasmKernel,
  type WasmOptions,
} from './module.js';
export { reservedBytes } from './select/memory.js';
export { supportsRelaxed } from './relaxed.js';
