import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/sources.js';

interface Run {
  readonly missing: object;
  readonly rows: readonly {
    readonly figures: Readonly<Record<string, { readonly best: number }>>;
    readonly limits: Readonly<Record<string, unknown>>;
    readonly refused: readonly unknown[];
  }[];
}

/** The compiled project. */
const dist = join(dirname(fileURLToPath(import.meta.url)), '../..');

test('rows about tiers, threads and the host are of the CPU, and those in float16 of a GPU', () => {
  const titlesOn = (device: string): readonly string[] =>
    execFileSync(process.execPath, [join(checkout, 'bench/main.mjs'), '--list', '--device', device], { encoding: 'utf8' }).trim().split('\n'); // prettier-ignore
  const [cpu, gpu] = ['cpu', 'webgpu'].map(titlesOn);
  assert.ok(cpu.includes('sgemm 1024') && gpu.includes('sgemm 1024'));
  assert.ok(gpu.includes('hgemm 1024') && !cpu.includes('hgemm 1024'));
  assert.ok(
    cpu.includes('threads: sgemm 1024') && !gpu.some((title) => title.startsWith('threads')),
  );
  assert.ok(cpu.includes('import') && !gpu.includes('import'));
  assert.ok(gpu.includes('sgemm 4096') && !cpu.includes('sgemm 4096'));
  for (const row of ['transformer', 'convolutional network']) {
    assert.ok([cpu, gpu].every((titles) => titles.some((title) => title.startsWith(row))));
  }
});

test('a row runs, with its limits, beside another build', () => {
  const options = ['--quick', '--peers', 'none', '--tier', 'wasm', '--only', 'sgemm 16', '--json'];
  const program = [join(checkout, 'bench/main.mjs'), '--dist', dist, '--against', dist];
  const text = execFileSync(process.execPath, [...program, ...options], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const { rows, missing } = JSON.parse(text) as Run;
  assert.equal(rows.length, 1);
  const [{ figures, limits, refused }] = rows;
  assert.deepEqual([missing, refused], [{}, []]);
  const names = [
    'kaon wasm eager',
    'kaon wasm captured',
    'other wasm eager',
    'other wasm captured',
  ];
  assert.deepEqual(Object.keys(figures).sort(), names.sort());
  for (const { best } of Object.values(figures)) assert.ok(best > 0);
  assert.ok(Object.keys(limits).length > 0);
});
