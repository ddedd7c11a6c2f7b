import type { CallNode } from '../../ir/program.js';
import type { TensorType } from '../../ir/types.js';
import type { Kernel } from '../../loop/language/nodes.js';
import type { DeviceTarget } from '../../ops/declare/kernels.js';
import type { DeviceTuning } from '../execution/device-tuning.js';
import type { BufferBackend, DeviceBuffer } from '../memory/backend.js';
import type { TimedDevice } from '../profile/recorder.js';

/** Argument of a kernel: a number or elements, for each parameter in order. */
export type LaunchArgument =
  | number
  /** Elements of a buffer, from a byte on. */
  | { readonly buffer: DeviceBuffer; readonly offset: number }
  /** Memory for as long as the kernel runs; of parallel ranges, each member of the team has its own. */
  | { readonly privateBytes: number };

/** Place of a condition on a device: what is in it, `conditions.ts` says. Kernels run where its first element is not 0. */
export interface LaunchCondition {
  readonly buffer: DeviceBuffer;
  /** In bytes. */
  readonly offset: number;
}

/** Runs a kernel once everything that was asked for before is done, under a condition only where there is one. */
export type Launch = (args: readonly LaunchArgument[], condition?: LaunchCondition) => void;

/**
 * A device: its memory, and kernels that run on it. Everything it is asked for happens in order. Programs, control
 * flow, checks and what the device lacks are not its business: it is told step by step what to run.
 */
export interface Backend extends BufferBackend, TimedDevice {
  /** Target of lowering, with the kernels that are written for this kind of device. */
  readonly target: DeviceTarget;
  /** True where the device itself decides whether kernels run: launches may have conditions. Default: they may not. */
  readonly hasConditions?: boolean;
  /** Kernels that were measured, once all have been that programs asked for; null where none are. Default: null. */
  tuning?(): Promise<DeviceTuning | null>;
  /** Settled when it can be used, as after a loss. Rejects when it cannot be set up again. Default: it always can. */
  ready?(): Promise<void>;
  /** Makes a kernel callable. Each is asked for once. */
  prepare(kernel: Kernel): Launch;
  /**
   * False for calls that are to run on the CPU, though the device has all of their dtypes. Default: none.
   *
   * @param operands The types of what it reads.
   */
  supports?(call: CallNode, operands: readonly TensorType[]): boolean;
}
