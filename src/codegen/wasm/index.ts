export {
  compileModule,
  encodeModule,
  instantiateModule,
  type WasmKernel,
  type WasmOptions,
} from './module.js';
export { reservedBytes } from './select/memory.js';
export { supportsRelaxed } from './relaxed.js';
