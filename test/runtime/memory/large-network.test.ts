import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { totalmem } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { supportsMemory64 } from '../../../src/codegen/wasm/index.js';
import { settings } from '../../support/settings.js';
import { canCompile } from '../native/support.js';

const script = fileURLToPath(new URL('large-network.js', import.meta.url));

interface Found {
  readonly losses: readonly number[];
  readonly peak: number;
  readonly tiers: readonly { readonly tier: string }[];
}

function trained(layers: number, width: number, tier: string): Promise<Found> {
  return new Promise((resolve, reject) => {
    const args = [script, String(layers), String(width), tier];
    execFile(process.execPath, args, { timeout: 900_000 }, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout) as Found);
      else reject(error);
    });
  });
}

/** A parameter, its gradient, and the two states of Adam, in float32. */
const bytesOfParameter = 16;
/** Memory beyond what is needed: buffers of the machine's, of the engine's and of the compiler's. */
const allowance = 1.15;

function whyNot(bytes: number): string | false {
  if (!settings.isLong) return 'KAON_LONG_TESTS is not 1';
  return totalmem() < 1.5 * bytes && 'this machine has too little memory';
}

/** Bytes of both memories while that of 64-bit addresses takes the place of the other. */
const whileReplaced = 2 * 2 ** 32;

for (const [layers, tier] of [
  [3, 'wasm'],
  [6, 'wasm'],
  [6, 'native'],
] as const) {
  const width = 8192;
  const bytes = bytesOfParameter * layers * width ** 2;
  const isReplaced = tier === 'wasm' && bytes > 2 ** 32;
  const most = allowance * Math.max(bytes, isReplaced ? whileReplaced : 0);
  const name = `${Math.round((layers * width ** 2) / 1e6)} M parameters train on ${tier} within ${Math.round(most / 1e6)} MB, where they need ${Math.round(bytes / 1e6)}`;
  const lacks =
    (tier === 'native' && !canCompile && 'there is no native code here') ||
    (isReplaced && !supportsMemory64() && 'this engine has no memory64');
  const skip = lacks || whyNot(bytes);
  test(name, { skip }, async () => {
    const { losses, peak, tiers } = await trained(layers, width, tier);
    assert.ok(peak <= most, `${peak} bytes, of which ${bytes} are needed`);
    assert.ok(peak >= bytes, 'all of it was there');
    losses.reduce((before, after) => {
      assert.ok(after < before, `a loss of ${after} after ${before}`);
      return after;
    });
    assert.deepEqual(
      tiers.map((report) => report.tier),
      [tier],
    );
  });
}
