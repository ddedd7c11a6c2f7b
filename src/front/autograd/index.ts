export type { GradReq } from '../capture/gradient-use.js';
export { grad, type GradOptions } from './grad.js';
export {
  isRecording,
  isTraining,
  pause,
  type PauseOptions,
  predictMode,
  record,
  type RecordOptions,
  trainMode,
} from './scopes.js';
