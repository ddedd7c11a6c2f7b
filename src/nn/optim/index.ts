export {
  Optimizer,
  type LearningRate,
  type OptimizerOptions,
  type UpdateContext,
} from './optimizer.js';
export { SGD, type SGDOptions } from './sgd.js';
export { Adam, AdamW, type AdamOptions } from './adam.js';
export {
  Adagrad,
  Lion,
  RMSProp,
  type AdagradOptions,
  type LionOptions,
  type RMSPropOptions,
} from './adaptive.js';
export { clipGlobalNorm } from './clip.js';
export * as schedule from './schedule.js';
