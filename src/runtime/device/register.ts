import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { isInUse, useDevice } from '../execution/backends.js';
import { expectResults } from '../memory/elsewhere.js';
import type { Backend } from './backend.js';
import { DeviceExecutable } from './executable.js';
import { lackedCalls } from './lacks.js';
import { DeviceQueue } from './queue.js';

/**
 * Makes a device known by its name, in the place of the one that had the name before.
 *
 * @returns The queue through which all work for the device goes.
 */
export function registerDevice(backend: Backend): DeviceQueue {
  const queue = new DeviceQueue(backend);
  expectResults(queue);
  useDevice({
    memory: queue,
    compile: (program, policy) => new DeviceExecutable(program, queue, policy),
    lacks: (program) => lackedCalls(program, backend).length > 0,
    tuning: async () => (await backend.tuning?.()) ?? null,
  });
  return queue;
}

/** Options as users give them to `initDevice`. */
type SetupOptions = Readonly<Record<string, unknown>>;

/** Makes a device. Rejects with a `DeviceError` that says what is missing. */
export type DeviceSetup = (options: SetupOptions) => Promise<Backend>;

const setups = new Map<string, DeviceSetup>();
const pending = new Map<string, Promise<void>>();

/** Says how a device is set up when it is asked for by its name. */
export function provideDevice(name: string, setup: DeviceSetup): void {
  setups.set(name, setup);
}

/**
 * Sets up a device that is not yet in use.
 * @throws DeviceError when it is not there; ArgumentError for an unknown name.
 */
export async function setUpDevice(name: string, options: object): Promise<void> {
  if (name === 'cpu' || isInUse(name)) return;
  const setup = setups.get(name);
  if (setup === undefined) {
    throw new ArgumentError('there is no such device', {
      op: 'initDevice',
      expected: ['cpu', ...setups.keys()].join(', '),
      actual: describe(name),
    });
  }
  let ready = pending.get(name);
  if (ready === undefined) {
    ready = setup({ ...options })
      .then((backend) => void registerDevice(backend))
      // A turn of the event loop: dead results can be found from then on.
      .then(() => new Promise<void>((resolve) => setTimeout(resolve)))
      .finally(() => pending.delete(name));
    pending.set(name, ready);
  }
  await ready;
}
