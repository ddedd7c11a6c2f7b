import { ArgumentError, DeviceError } from '../../base/errors.js';
import type { Program } from '../../ir/program.js';
import type { BufferBackend } from '../memory/backend.js';
import type { Storage } from '../memory/storage.js';
import type { Executable, Operand } from './executable.js';

/** A device: its memory, and what makes programs run on it. */
export interface Backend extends BufferBackend {
  /**
   * A program whose operands and results are on this device.
   * @throws DeviceError for what the device cannot do.
   */
  compile(program: Program): Executable;
}

const registered = new Map<string, Backend>();

/** Whether there is any device but the CPU, so that where there is none nobody has to look at operands. */
export const otherBackends: { exist: boolean } = { exist: false };

/** Makes a device known by its name, in the place of the one that had the name before. */
export function registerBackend(backend: Backend): void {
  if (backend.name === 'cpu') {
    throw new ArgumentError('there is a CPU already', { op: 'registerBackend', actual: 'cpu' });
  }
  registered.set(backend.name, backend);
  otherBackends.exist = true;
}

/**
 * The device of a name; null for the CPU.
 * @throws ArgumentError where there is none of that name.
 */
export function backendNamed(name: unknown, op: string): Backend | null {
  if (name === 'cpu') return null;
  const backend = registered.get(name as string);
  if (backend !== undefined) return backend;
  throw new ArgumentError('there is no such device', {
    op,
    expected: ['cpu', ...registered.keys()].join(', '),
    actual: String(name),
    advice: 'devices are there once they have been set up: await initDevice(name)',
  });
}

/** What runs a program on other devices than the CPU. */
const executables = new WeakMap<Program, Map<Backend, Executable>>();

/**
 * Runs a program on the device of its operands; null where that is the CPU. Single elements on the CPU may be
 * among operands that are elsewhere.
 * @throws DeviceError where operands are on several devices.
 */
export function runElsewhere(
  program: Program,
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] | undefined,
): readonly Operand[] | null {
  const backend = commonBackend(inputs, into);
  if (backend === null) return null;
  let known = executables.get(program);
  if (known === undefined) executables.set(program, (known = new Map<Backend, Executable>()));
  let executable = known.get(backend);
  if (executable === undefined) known.set(backend, (executable = backend.compile(program)));
  const operands = inputs.map(({ storage, shape }): Operand => {
    return { storage: storage.backend === null ? storage.onBackend(backend) : storage, shape };
  });
  return executable.run(operands, into);
}

function commonBackend(
  inputs: readonly Operand[],
  into: readonly (Storage | null)[] = [],
): Backend | null {
  let found: BufferBackend | null | undefined;
  const note = (backend: BufferBackend | null): void => {
    if (found !== undefined && found !== backend) throw different(found, backend);
    found = backend;
  };
  for (const { storage, shape } of inputs) {
    if (storage.backend !== null || shape.length > 0) note(storage.backend);
  }
  for (const target of into) if (target !== null) note(target.backend);
  // Storages elsewhere are made for backends that make programs run, too.
  return (found ?? null) as Backend | null;
}

function different(one: BufferBackend | null, other: BufferBackend | null): DeviceError {
  return new DeviceError('operands are on different devices', {
    op: 'run',
    expected: 'one device; only numbers and arrays of rank 0 may be on the CPU beside it',
    actual: [one, other].map((backend) => backend?.name ?? 'cpu').join(' and '),
    advice: 'x.to(device) copies an array to a device, await x.cpu() copies it back',
  });
}
