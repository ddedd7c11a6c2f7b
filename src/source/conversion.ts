export { transform, type Transformed, type TransformOptions } from './transform.js';
export type { ForeignSourceMap, SourceMap } from './maps/source-map.js';
export type { SourceType } from './syntax/parse.js';
