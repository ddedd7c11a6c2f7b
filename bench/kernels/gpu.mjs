// The GPU of a script about kernels: `--software` takes the driver that `node scripts/software-gpu.mjs` unpacks.
import { spawnSync } from 'node:child_process';
import { load } from '../dist.mjs';
import { softwareGpu } from '../../scripts/software-gpu.mjs';

/** Runs this process again with the software driver, which has to be there when a process starts. */
export function withDriver(isSoftware) {
  if (!isSoftware || process.env.KAON_BENCH_DRIVER !== undefined) return;
  const driver = softwareGpu();
  if (driver === null) throw new Error('node scripts/software-gpu.mjs unpacks the software driver');
  const env = { ...process.env, ...driver, KAON_BENCH_DRIVER: 'software' };
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { stdio: 'inherit', env });
  process.exit(status ?? 1);
}

/** The backend of the GPU in use, which times kernels and counts commands. */
export async function backendInUse() {
  const { backendNamed } = await load('src/runtime/execution/backends.js');
  return backendNamed('webgpu', 'benchmark').backend;
}

/** Microseconds with three digits. */
export const microseconds = (milliseconds) => `${Number((milliseconds * 1e3).toPrecision(3))} us`;
