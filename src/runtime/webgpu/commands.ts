import type { DispatchTimes, DispatchTiming } from './timing.js';
import type { ShaderBinding, ShaderFeatures } from '../../codegen/wgsl/shader.js';

/** Reason why commands have failed. Plain data: errors lose their classes between threads. */
export interface GpuFailure {
  readonly problem: string;
  readonly actual?: string;
}

/** Properties of a GPU that do not change. */
export interface GpuProperties {
  /** Names of the adapter and its driver, as far as it tells them. */
  readonly adapter: string;
  /** The most bytes that one buffer may have and be bound with. */
  readonly bufferBytes: number;
  readonly features: ShaderFeatures;
}

/** A compute pipeline to be made. */
export interface PipelineDescription {
  /** For error messages. */
  readonly label: string;
  readonly text: string;
  readonly bindings: readonly ShaderBinding[];
  readonly uniformWords: number;
}

/** A place in a buffer. */
export interface BufferPosition {
  readonly id: number;
  /** In bytes: a multiple of 4. */
  readonly base: number;
}

/** Part of a buffer. */
export interface BufferRange extends BufferPosition {
  /** A multiple of 4. */
  readonly bytes: number;
}

/** One dispatch of a pipeline, along one dimension. */
export interface Dispatch {
  readonly pipeline: number;
  /** Buffers of the bindings, in order. */
  readonly buffers: readonly number[];
  readonly uniforms: Uint32Array;
  readonly groups: number;
  /** Place of three numbers of workgroups, as the device has computed them; `groups` does not count then. */
  readonly indirect?: BufferPosition;
}

/** Makes what measures dispatches of a device, of which so many are in a submit at most. */
export type TimingOf = (device: GPUDevice, mostDispatches: number) => DispatchTiming;

/** Counts of commands since the start. */
export interface CommandCounts {
  readonly dispatches: number;
  readonly submits: number;
  readonly reads: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
}

/**
 * Commands to a GPU, carried out in order. Buffers and pipelines have numbers that the caller chooses, so that the
 * commands can go to another thread. What goes wrong later rejects the next wait, and all others after it.
 */
export interface GpuCommands {
  readonly properties: GpuProperties;
  /** True if `read` gives bytes rather than a promise of them. */
  readonly answersAtOnce: boolean;
  readonly counts: CommandCounts;
  /** A new buffer. Its size is a multiple of 4. */
  createBuffer(buffer: number, bytes: number): void;
  destroyBuffer(buffer: number): void;
  /** A new pipeline, which takes the place of one with its number. */
  createPipeline(pipeline: number, description: PipelineDescription): void;
  /** True if such a pipeline can be made. Nothing goes wrong where it cannot. */
  accepts(description: PipelineDescription): Promise<boolean>;
  dispatch(dispatch: Dispatch): void;
  /** Copies whole words into a buffer. The bytes may be changed afterwards. */
  write(buffer: number, offset: number, bytes: Uint8Array): void;
  /** Copies whole words between buffers, or between parts of one that do not overlap. */
  copy(from: BufferPosition, to: BufferPosition, bytes: number): void;
  /** A copy of whole words, of all parts behind each other: answered together. */
  read(parts: readonly BufferRange[]): Uint8Array | Promise<Uint8Array>;
  /**
   * Times each dispatch from now on, which keeps them from overlapping.
   * @param make Makes what measures, where the GPU is in this thread.
   */
  startTiming(make: TimingOf): void;
  /**
   * Ends it.
   * @returns The times of all dispatches since then.
   */
  stopTiming(): Promise<DispatchTimes>;
  /** Settled when everything so far is done. */
  synchronize(): Promise<void>;
  /** Calls back with the reason when the GPU is gone. It is not called for `close`. */
  onLost(callback: (reason: GpuFailure) => void): void;
  /** Gives the GPU back with all of its memory. */
  close(): void;
}
