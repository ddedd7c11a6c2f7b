/** Training jobs for more than one machine: written here, run by `kaon-player` under JAX. */
export type { JobCheckpoints, JobFiles, JobMesh, JobPartition, JobRule } from './scale/job.js';
export type { JobData } from './scale/data.js';
export { type FollowOptions, followJob, type JobMetrics } from './scale/follow-job.js';
export { type JobCheckpoint, readCheckpoint } from './scale/read-checkpoint.js';
export { type WriteJobOptions, writeJob } from './scale/write-job.js';
