import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesOf, type DType, type HostArray } from '../../../src/base/dtype.js';
import type { Operand } from '../../../src/runtime/execution/executable.js';
import { Storage } from '../../../src/runtime/memory/storage.js';
import { checkout } from '../../support/sources.js';

/** Python with JAX, if there is one: that of `npm run test:player`, or what `KAON_PLAYER_PYTHON` names. */
export const python: string = process.env['KAON_PLAYER_PYTHON'] ?? join(checkout, '.build/player/bin/python'); // prettier-ignore

/** Reason for which tests that need XLA are skipped; false where they run. */
export const skipWithoutXla: string | false = existsSync(python)
  ? false
  : 'there is no Python with JAX; `npm run test:player` installs one';

/** A module and its operands. */
export interface XlaCase {
  readonly text: string;
  readonly operands: readonly Operand[];
}

interface CaseResult {
  readonly error?: string;
  readonly outputs: readonly {
    readonly dtype: DType;
    readonly shape: readonly number[];
    readonly bytes: number;
  }[];
}

/** The results of modules under XLA on the processor, all in one process; an error message where one failed. */
export function runUnderXla(
  cases: readonly XlaCase[],
  environment: Readonly<Record<string, string>> = {},
): readonly (readonly Operand[] | string)[] {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-xla-'));
  try {
    const parts: Uint8Array[] = [];
    let offset = 0;
    const described = cases.map(({ text, operands }) => ({
      text,
      inputs: operands.map(({ storage: { dtype, host }, shape }) => {
        const bytes = new Uint8Array(host.buffer, host.byteOffset, shape.reduce((a, b) => a * b, bytesOf(dtype))); // prettier-ignore
        parts.push(bytes);
        offset += bytes.length;
        return { dtype, shape, offset: offset - bytes.length, bytes: bytes.length };
      }),
    }));
    writeFileSync(join(folder, 'cases.json'), JSON.stringify(described));
    writeFileSync(join(folder, 'inputs.bin'), Buffer.concat(parts));
    execFileSync(python, [join(checkout, 'test/formats/stablehlo/run_cases.py'), folder], {
      env: {
        ...process.env,
        PYTHONPATH: join(checkout, 'player'),
        JAX_PLATFORMS: 'cpu',
        ...environment,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const results = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8')) as CaseResult[];
    const data = readFileSync(join(folder, 'outputs.bin'));
    let at = 0;
    return results.map(({ error, outputs }) => {
      if (error !== undefined) return error;
      return outputs.map(({ dtype, shape, bytes }) => {
        const content = Uint8Array.from(data.subarray(at, (at += bytes)));
        return { storage: new Storage(dtype, arrayOver(dtype, content.buffer)), shape };
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A typed array over bytes in memory. */
export function arrayOver(dtype: DType, buffer: ArrayBuffer): HostArray {
  switch (dtype) {
    case 'float64':
      return new Float64Array(buffer);
    case 'float32':
      return new Float32Array(buffer);
    case 'float16':
    case 'bfloat16':
      return new Uint16Array(buffer);
    case 'int64':
      return new BigInt64Array(buffer);
    case 'int32':
      return new Int32Array(buffer);
    case 'int8':
      return new Int8Array(buffer);
    case 'uint8':
    case 'bool':
      return new Uint8Array(buffer);
  }
}
