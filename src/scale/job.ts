import type { StableHloMeta } from '../stablehlo/to-stablehlo.js';

/*
 * The file `job.json`, which `kaon-player` reads. The folder's other files are named in it, or have fixed names.
 */

/**
 * Division of an array over a mesh: for each leading axis the name of a mesh axis, or null where the array axis is not
 * divided; `fsdp` for the greatest axis that the devices divide; `replicated` for whole copies.
 */
export type JobPartition = readonly (string | null)[] | 'fsdp' | 'replicated';

/** A regular expression that is searched for in names of state, and the partition of the state that it finds. */
export type JobRule = readonly [pattern: string, partition: JobPartition];

/** Extents of a mesh of devices by axis name, in order. The batch is divided along `data`. */
export type JobMesh = Readonly<Record<string, number>>;

/** Data that lies in files or that a Python module yields. */
export interface JobFiles {
  readonly kind: 'safetensors' | 'npz' | 'parquet' | 'module';
  /** Paths or patterns, relative to the folder of the job or absolute where the job runs. */
  readonly files?: readonly string[];
  /** Function that yields the batches, `module:function`; for the kind `module`. */
  readonly module?: string;
  /** Columns or tensors by input, where their names differ. */
  readonly feeds?: Readonly<Record<string, string>>;
}

/** @internal A program of the job. */
export interface StoredProgram {
  readonly file: string;
  readonly meta: StableHloMeta<number>;
}

/** @internal Data as the file has them. */
export interface StoredData extends JobFiles {
  readonly files: readonly string[];
  readonly feeds: Readonly<Record<string, string>>;
}

/** Checkpoints that the player writes. */
export interface JobCheckpoints {
  /** Steps between two checkpoints. */
  readonly every: number;
  /** Checkpoints to keep. Default 3. */
  readonly keep?: number;
}

/** @internal The file `job.json`. */
export interface JobFile {
  readonly version: 1;
  readonly programs: Readonly<Record<string, StoredProgram>> & { readonly step: StoredProgram };
  readonly state: string | null;
  readonly data: StoredData;
  readonly evaluateData?: StoredData;
  readonly batch: number;
  readonly batchAxes: Readonly<Record<string, number>>;
  readonly steps: number;
  readonly evaluateEvery?: number;
  readonly mesh?: JobMesh;
  readonly rules: readonly JobRule[];
  readonly schedule?: Readonly<Record<string, readonly number[]>>;
  readonly checkpoint: Required<JobCheckpoints>;
  readonly seed: number;
  readonly metrics: readonly string[];
}

/** @internal Names of files in the folder of a job. */
export const jobFiles = {
  job: 'job.json',
  state: 'state.safetensors',
  metrics: 'metrics.jsonl',
  status: 'status.json',
  final: 'final.safetensors',
} as const;
