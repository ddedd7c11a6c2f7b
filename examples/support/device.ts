import { parseArgs } from 'node:util';
import * as kn from '../../src/index.js';

/** The device that the command line names by `--device`; `cpu` where it names none. */
export function deviceOption(args: readonly string[]): string {
  const options = { device: { type: 'string', default: 'cpu' } } as const;
  return parseArgs({ args: [...args], options }).values.device;
}

/** Has new arrays live on a device. A GPU is in a worker, so that losses are read as on the CPU. */
export async function startOn(device: string): Promise<void> {
  if (device !== 'cpu') await kn.initDevice(device, { worker: true });
  kn.config.device = device;
}
