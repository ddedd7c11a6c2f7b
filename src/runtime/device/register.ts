import { describe } from '../../base/attributes/attribute.js';
import { ArgumentError } from '../../base/errors.js';
import { deviceInUse, useDevice } from '../execution/backends.js';
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
    ready: async () => backend.ready?.(),
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

/** Options with which devices were set up. */
const chosen = new Map<string, SetupOptions>();

/**
 * Sets up a device that is not yet in use, and waits for one that is being set up again.
 *
 * @param usual Values of options that are not given.
 * @throws DeviceError when it is not there; ArgumentError for an unknown name, and for another option than it has.
 */
export async function setUpDevice(
  name: string,
  options: SetupOptions,
  usual: SetupOptions = {},
): Promise<void> {
  if (name === 'cpu') return;
  const known = chosen.get(name);
  if (known !== undefined) refuseOthers(name, options, known);
  const device = deviceInUse(name);
  if (device !== undefined) return device.ready?.();
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
      .catch((error: unknown) => {
        chosen.delete(name);
        throw error;
      })
      .finally(() => pending.delete(name));
    pending.set(name, ready);
    chosen.set(name, { ...usual, ...options });
  }
  await ready;
}

/** Refuses options that a device does not have and can no longer get. */
function refuseOthers(name: string, options: SetupOptions, known: SetupOptions): void {
  for (const [option, value] of Object.entries(options)) {
    if (value === undefined || value === known[option]) continue;
    throw new ArgumentError(`the device is set up already, with another ${option}`, {
      op: 'initDevice',
      expected: known[option] === undefined ? `no ${option}` : describe(known[option]),
      actual: describe(value),
      advice: `call initDevice('${name}') with all of its options before anything else does, or without options`,
    });
  }
}
