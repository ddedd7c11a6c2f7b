/** Export of graphs without this library: as one ES module, and as C. */
export { type CFiles, toC, type ToCOptions } from './c/index.js';
export type { Feeds } from './check.js';
export { toModule, type ToModuleOptions } from './module/index.js';
