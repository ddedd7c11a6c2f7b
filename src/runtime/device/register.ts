import { useDevice } from '../execution/backends.js';
import type { Backend } from './backend.js';
import { DeviceExecutable } from './executable.js';
import { DeviceQueue } from './queue.js';

/**
 * Makes a device known by its name, in the place of the one that had the name before.
 *
 * @returns The queue through which all work for the device goes.
 */
export function registerBackend(backend: Backend): DeviceQueue {
  const queue = new DeviceQueue(backend);
  useDevice({
    memory: queue,
    compile: (program, isStrict) => new DeviceExecutable(program, queue, { isStrict }),
  });
  return queue;
}
