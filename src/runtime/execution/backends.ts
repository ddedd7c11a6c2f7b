import { ArgumentError, DeviceError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import type { BufferBackend } from '../memory/backend.js';
import type { Storage } from '../memory/storage.js';
import type { Executable, Operand } from './executable.js';

/** A device that is in use. */
export interface DeviceInUse {
  readonly memory: BufferBackend;
  /**
   * A program whose operands and results are on this device; single elements may be on the CPU.
   * @throws DeviceError for what the device lacks, where `isStrict`; else that runs on the CPU.
   */
  compile(program: Program, isStrict: boolean): Executable;
}

const registered = new Map<string, DeviceInUse>();

/** Those that have lost their names, too: there may be arrays on them. */
const inUse = new WeakMap<BufferBackend, DeviceInUse>();

/** Whether there is any device but the CPU, so that where there is none nobody has to look at operands. */
export const otherBackends: { exist: boolean } = { exist: false };

/** Makes a device known by its name, in the place of the one that had the name before. */
export function useDevice(device: DeviceInUse): void {
  const { name } = device.memory;
  if (name === 'cpu') {
    throw new ArgumentError('there is a CPU already', { op: 'registerBackend', actual: 'cpu' });
  }
  registered.set(name, device);
  inUse.set(device.memory, device);
  otherBackends.exist = true;
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
    actual: String(name),
    advice: 'devices are there once they have been set up: await initDevice(name)',
  });
}

/** What runs a program on other devices than the CPU, first where what they lack is refused. */
const executables: readonly WeakMap<Program, Map<BufferBackend, Executable>>[] = [
  new WeakMap(),
  new WeakMap(),
];

/**
 * Runs a program on the device of its operands; null where that is the CPU. Single elements on the CPU may be
 * among operands that are elsewhere.
 * @param isStrict Whether what the device lacks is refused. Default true.
 * @throws DeviceError where operands are on several devices.
 */
export function runElsewhere(
  program: Program,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] | undefined,
  isStrict: boolean = true,
): readonly Operand[] | null {
  const backend = commonBackend(inputs, into);
  return backend === null ? null : executableOn(program, backend, isStrict).run(inputs, into);
}

function executableOn(program: Program, backend: BufferBackend, isStrict: boolean): Executable {
  const programs = executables[isStrict ? 0 : 1];
  let known = programs.get(program);
  if (known === undefined) programs.set(program, (known = new Map<BufferBackend, Executable>()));
  let executable = known.get(backend);
  if (executable === undefined) {
    executable = inUse.get(backend)!.compile(program, isStrict);
    known.set(backend, executable);
  }
  return executable;
}

function commonBackend(
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] = [],
): BufferBackend | null {
  let found: BufferBackend | null | undefined;
  const note = (backend: BufferBackend | null): void => {
    if (found !== undefined && found !== backend) throw different(found, backend);
    found = backend;
  };
  for (const { storage, shape } of inputs) {
    if (storage.backend !== null || shape.length > 0) note(storage.backend);
  }
  for (const target of into) if (target !== null) note(target.backend);
  return found ?? null;
}

function different(one: BufferBackend | null, other: BufferBackend | null): DeviceError {
  return new DeviceError('operands are on different devices', {
    op: 'run',
    expected: 'one device; only numbers and arrays of rank 0 may be on the CPU beside it',
    actual: [one, other].map((backend) => backend?.name ?? 'cpu').join(' and '),
    advice: 'x.to(device) copies an array to a device, await x.cpu() copies it back',
  });
}
