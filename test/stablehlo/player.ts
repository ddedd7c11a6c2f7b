import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DType } from '../../src/base/dtype.js';
import type { NDArray } from '../../src/index.js';
import type { StableHlo } from '../../src/stablehlo.js';
import { arrayOver, python } from '../formats/stablehlo/xla.js';
import { checkout } from '../support/sources.js';

type Arrays = Readonly<Record<string, NDArray>>;

/** Steps to run under JAX. */
export interface PlayedStep {
  readonly module: StableHlo;
  readonly batches: readonly Arrays[];
  /** Axes along which inputs are divided, by input; 0 for others. */
  readonly batchAxes: Readonly<Record<string, number>>;
  readonly devices: number;
  /** State on every device, or divided over them. */
  readonly partition: 'replicated' | 'sharded';
}

/** Results of steps. */
export interface PlayedResult {
  readonly losses: readonly number[];
  /** State by name, as numbers. */
  readonly state: ReadonlyMap<string, readonly number[]>;
  /** Counts of collective operations in the compiled step. */
  readonly collectives: Readonly<Record<string, number>>;
  /** Counts of those that loops repeat. */
  readonly repeated: Readonly<Record<string, number>>;
}

interface StoredArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: number;
}

interface ResultFile {
  readonly losses: readonly (readonly number[])[];
  readonly state: readonly (StoredArray & { readonly name: string })[];
  readonly collectives: Readonly<Record<string, number>>;
  readonly repeated: Readonly<Record<string, number>>;
}

/** Runs steps under JAX, on simulated devices of one process. */
export function playSteps(runs: readonly PlayedStep[]): readonly PlayedResult[] {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-steps-'));
  const parts: Uint8Array[] = [];
  let offset = 0;
  const stored = (arrays: Arrays): Record<string, StoredArray & { readonly offset: number }> =>
    Object.fromEntries(
      Object.entries(arrays).map(([name, array]) => {
        const { host } = array.computed().storage;
        const bytes = new Uint8Array(host.buffer, host.byteOffset, host.byteLength);
        parts.push(bytes);
        offset += bytes.length;
        return [name, { dtype: array.dtype, shape: array.shape, offset: offset - bytes.length, bytes: bytes.length }]; // prettier-ignore
      }),
    );
  try {
    const job = runs.map(({ module: { text, meta, state }, batches, ...rest }) => ({
      ...rest,
      text,
      meta,
      state: stored(state),
      batches: batches.map(stored),
    }));
    writeFileSync(join(folder, 'job.json'), JSON.stringify(job));
    writeFileSync(join(folder, 'inputs.bin'), Buffer.concat(parts));
    execFileSync(python, [join(checkout, 'test/stablehlo/run_steps.py'), folder], {
      env: {
        ...process.env,
        PYTHONPATH: join(checkout, 'player'),
        JAX_PLATFORMS: 'cpu',
        XLA_FLAGS: '--xla_force_host_platform_device_count=8',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const results = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8')) as ResultFile[];
    const data = readFileSync(join(folder, 'outputs.bin'));
    let at = 0;
    return results.map(({ losses, state, collectives, repeated }) => ({
      losses: losses.map(([loss]) => loss),
      state: new Map(
        state.map(({ name, dtype, bytes }) => {
          const content = Uint8Array.from(data.subarray(at, (at += bytes)));
          return [name, Array.from(arrayOver(dtype, content.buffer) as ArrayLike<number | bigint>, Number)]; // prettier-ignore
        }),
      ),
      collectives,
      repeated,
    }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
