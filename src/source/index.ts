export { transform, type Transformed, type TransformOptions } from './transform.js';
export type { SourceMap } from './emit/output.js';
