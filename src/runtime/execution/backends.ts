import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError, DeviceError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import type { BufferBackend } from '../memory/backend.js';
import type { Storage } from '../memory/storage.js';
import { clearMarks, profiling, type Recorder } from '../profile/recorder.js';
import type { DeviceTuning } from './device-tuning.js';
import type { Executable, Operand } from './executable.js';

/** A device that is in use. */
export interface DeviceInUse {
  readonly memory: BufferBackend;
  /**
   * A program whose operands and results are on this device; single elements may be on the CPU, and so may what the
   * device cannot hold.
   * @throws DeviceError for what the device lacks, unless the policy has it run on the CPU.
   */
  compile(program: Program, policy: IslandPolicy): DeviceProgramExecutable;
  /** True if the device lacks something that a program calls. */
  lacks(program: Program): boolean;
  /** Kernels that were measured there, once all have been that programs asked for; null where none are. */
  tuning?(): Promise<DeviceTuning | null>;
  /** Settled when it can be used, as after a loss. Rejects when it cannot be set up again. Default: it always can. */
  ready?(): Promise<void>;
}

/** The device of new arrays; null for the CPU. */
export const newArrays: { backend: BufferBackend | null } = { backend: null };

/**
 * Policy for calls that a device lacks: `islands` runs them on the CPU, in the middle of the program;
 * `strict` refuses them; `eager` refuses them, too, in a program that is one call of the user's.
 */
export type IslandPolicy = 'eager' | 'islands' | 'strict';

/** Calls of a program that run on the CPU because a device lacks them. */
export interface IslandReport {
  readonly device: string;
  /** The operators with what they need and their lines. */
  readonly calls: readonly string[];
  /** Bytes that the last run copied from the device and back for their sake; null before the first. */
  readonly bytes: number | null;
}

/** Part of a program of which an external engine runs some parts. */
export interface PartReport {
  /** Name of the engine; `kaon` for a part that runs here. */
  readonly backend: string;
  /** The operators with their lines. */
  readonly calls: readonly string[];
  readonly runs: number;
  /** Bytes that the last run handed to the engine and got from it; null before the first, and for a part here. */
  readonly bytes: number | null;
  /** Time of all runs. */
  readonly milliseconds: number;
  /** Reason why the engine has not compiled a part that runs here instead; null when there is none. */
  readonly problem: string | null;
}

export interface DeviceProgramExecutable extends Executable {
  islands(): readonly IslandReport[];
  /** Parts of a program that an engine runs parts of; none for others. */
  parts(): readonly PartReport[];
}

const registered = new Map<string, DeviceInUse>();

/** Devices by their memory, those without a name any more included: there may be arrays on them. */
const inUse = new WeakMap<BufferBackend, DeviceInUse>();

/** Reasons for which a run may be another than that of code for the CPU. */
export const detours: {
  /** True while there is any: until then nobody has to look for one. */
  exist: boolean;
  /** True once there is a device but the CPU. */
  devices: boolean;
} = { exist: false, devices: false };

/** Begins to record what runs; null ends it. */
export function recordRuns(recorder: Recorder | null): void {
  clearMarks();
  profiling.recorder = recorder;
  detours.exist = detours.devices || recorder !== null;
}

/** Makes a device known by its name, in the place of the one that had the name before. */
export function useDevice(device: DeviceInUse): void {
  const { name } = device.memory;
  if (name === 'cpu') {
    throw new ArgumentError('there is a CPU already', { op: 'registerDevice', actual: 'cpu' });
  }
  registered.set(name, device);
  useMemory(device);
}

/** Makes the memory of a device known that arrays can come from, but not be moved to by name. */
export function useMemory(device: DeviceInUse): void {
  inUse.set(device.memory, device);
  detours.devices = detours.exist = true;
}

/** The device of a name, if it is in use. */
export function deviceInUse(name: string): DeviceInUse | undefined {
  return registered.get(name);
}

/**
 * The device of a name; null for the CPU.
 * @throws ArgumentError where there is none of that name.
 */
export function backendNamed(name: unknown, op: string): BufferBackend | null {
  if (name === 'cpu') return null;
  const backend = registered.get(name as string);
  if (backend !== undefined) return backend.memory;
  throw new ArgumentError('there is no such device', {
    op,
    expected: ['cpu', ...registered.keys()].join(', '),
    actual: describe(name),
    advice: 'devices are there once they have been set up: await initDevice(name)',
  });
}

/**
 * Kernels that were measured on the device of a name.
 * @throws ArgumentError where there is no such device; DeviceError where it measures none.
 */
export async function measuredKernels(name: string, op: string): Promise<DeviceTuning> {
  const memory = backendNamed(name, op);
  const tuning = memory === null ? null : await inUse.get(memory)!.tuning?.();
  if (tuning) return tuning;
  throw new DeviceError('the kernels of this device are not measured', {
    op,
    actual: name,
    advice: "have them be measured: await initDevice('webgpu', { tuning: 'background' })",
  });
}

/** Executables of programs on other devices than the CPU. */
const executables = new WeakMap<Program, Map<BufferBackend, DeviceProgramExecutable>>();
const policies = new WeakMap<Program, IslandPolicy>();

/** Chooses the policy of a program, before it first runs. Default: `eager`. */
export function wantIslands(program: Program, policy: IslandPolicy): void {
  policies.set(program, policy);
}

/** Storages on the CPU that programs on other devices may read. */
const following = new WeakSet<Storage>();

/** Has elements on the CPU go to wherever the other operands are: state of the library's own. */
export function followsOthers(storage: Storage): void {
  following.add(storage);
}

/** The calls of a program that ran on the CPU instead of another device. */
export function islandsOf(program: Program): readonly IslandReport[] {
  return [...(executables.get(program)?.values() ?? [])].flatMap((each) => each.islands());
}

/** The parts of a program of which an engine runs some, once it has been compiled. */
export function divisionsOf(program: Program): readonly PartReport[] {
  return [...(executables.get(program)?.values() ?? [])].flatMap((each) => each.parts());
}

/** Programs that run where an engine has its arrays, wherever their operands are. */
const homes = new WeakMap<Program, BufferBackend>();

/** Chooses where a program runs, before it first does. */
export function wantHome(program: Program, home: BufferBackend): void {
  homes.set(program, home);
}

/** The code of a program that runs where an engine has its arrays; null for any other. */
export function codeAtHome(program: Program): Executable | null {
  const home = homes.get(program);
  return home === undefined ? null : executableOn(program, home);
}

/**
 * Runs a program on the device of its operands; null where that is the CPU. Single elements on the CPU may be
 * among operands that are elsewhere, and so may what that device cannot hold.
 * @throws DeviceError where operands are on several devices, and for what the device lacks.
 */
export function runElsewhere(
  program: Program,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] | undefined,
  sizes?: readonly number[],
): readonly Operand[] | null {
  const common = commonBackend(program, inputs, into);
  const home = homes.get(program);
  if (home !== undefined && common !== null && common !== home)
    throw onDifferentDevices(common, home, nameOf(program));
  const backend = common ?? home ?? backendOfNew(program, inputs, into);
  return backend === null ? null : executableOn(program, backend).run(inputs, into, sizes);
}

/**
 * The device of new arrays, for a program whose results are new ones: none of its operands is anywhere in
 * particular.
 */
function backendOfNew(
  program: Program,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] | undefined,
): BufferBackend | null {
  const { backend } = newArrays;
  if (backend === null || into !== undefined) return null;
  const isNew = inputs.every(
    ({ storage, isConstant }) => isConstant === true || following.has(storage),
  );
  if (!isNew) return null;
  const mayLack = (policies.get(program) ?? 'eager') !== 'eager';
  return mayLack || !inUse.get(backend)!.lacks(program) ? backend : null;
}

function executableOn(program: Program, backend: BufferBackend): Executable {
  let known = executables.get(program);
  if (known === undefined) {
    executables.set(program, (known = new Map<BufferBackend, DeviceProgramExecutable>()));
  }
  let executable = known.get(backend);
  if (executable === undefined) {
    executable = inUse.get(backend)!.compile(program, policies.get(program) ?? 'eager');
    known.set(backend, executable);
  }
  return executable;
}

/** The operator of a program that is one call of the user's. */
function nameOf(program: Program): string | undefined {
  const [call, ...others] = [...program.calls()];
  return others.length === 0 ? call?.[1].op.name : undefined;
}

function commonBackend(
  program: Program,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] = [],
): BufferBackend | null {
  const storages = [...inputs.map(({ storage }) => storage), ...into];
  const backend = storages.find((storage) => storage !== null && storage.backend !== null)?.backend;
  if (backend === undefined || backend === null) return null;
  for (const input of inputs) {
    if (!mayMeet(input, backend))
      throw onDifferentDevices(input.storage.backend, backend, nameOf(program));
  }
  for (const target of into) {
    if (target !== null && target.backend !== backend)
      throw onDifferentDevices(target.backend, backend, nameOf(program));
  }
  return backend;
}

/**
 * True for an operand that a program on a device may have: one that is there, and on the CPU a single element, a
 * constant, what follows others, and what the device cannot hold.
 */
export function mayMeet({ storage, shape, isConstant }: Operand, backend: BufferBackend): boolean {
  if (storage.backend !== null) return storage.backend === backend;
  const isData = shape.length === 0 || isConstant === true || following.has(storage);
  return isData || !backend.limits.dtypes.has(storage.dtype);
}

/** Error about operands that are on several devices. */
export function onDifferentDevices(
  one: BufferBackend | null,
  other: BufferBackend | null,
  op: string = 'run',
): DeviceError {
  return new DeviceError('operands are on different devices', {
    op,
    expected: 'one device; only numbers and arrays of rank 0 may be on the CPU beside it',
    actual: [one, other].map((backend) => backend?.name ?? 'cpu').join(' and '),
    advice:
      'x.to(device) copies an array to a device, await x.cpu() copies it back; so do net.to(device), await net.cpu() and await optimizer.cpu()',
  });
}
