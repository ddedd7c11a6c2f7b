import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { canCompile, inFolder, reached } from './support.js';

const script = fileURLToPath(new URL('child.js', import.meta.url));

interface Found {
  readonly tier: string;
  readonly reason: string | null;
  readonly result: readonly number[];
}

function inProcess(
  work: string,
  env: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<Found> {
  return new Promise((resolve, reject) => {
    const options = { env: { ...process.env, KAON_TIER: '', ...env }, timeout: 120_000 };
    execFile(process.execPath, [...nodeOptions, script, work], options, (error, stdout) => {
      if (error === null) resolve(JSON.parse(stdout) as Found);
      else reject(error);
    });
  });
}

/** Columns of the softmax over rows of the products of all rows with each other. */
function expected(): number[] {
  const x = Array.from({ length: 6 }, (_, r) =>
    Array.from({ length: 10 }, (_, c) => (10 * r + c) / 100),
  );
  const sums = Array<number>(6).fill(0);
  for (const a of x) {
    const weights = x.map((b) => Math.exp(a.reduce((sum, value, k) => sum + value * b[k], 0)));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    weights.forEach((weight, c) => (sums[c] += weight / total));
  }
  return sums;
}

function isRight({ result }: Found): void {
  const wanted = expected();
  assert.equal(result.length, wanted.length);
  result.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-5, `column ${i}`));
}

test(`processes that compile the same program at once: all of them reach ${reached}`, () =>
  inFolder(async (cache) => {
    const all = await Promise.all(
      Array.from({ length: 3 }, () => inProcess('at once', { KAON_CACHE: cache })),
    );
    for (const found of all) {
      isRight(found);
      assert.equal(found.tier, reached, String(found.reason));
    }
    // Whoever was first, there is one whole entry, and nothing that is unfinished.
    const left = readdirSync(cache).map((name) => name.replace(/^[0-9a-f]{64}/, 'digest'));
    assert.ok(
      left.every((name) => ['digest.so', 'digest.json'].includes(name)),
      left.join(),
    );
    assert.equal(left.filter((name) => name === 'digest.json').length, canCompile ? 1 : 0);
  }));

test(`a program in an event loop goes over to ${reached} in the background`, () =>
  inFolder(async (cache) => {
    const found = await inProcess('in turns', { KAON_CACHE: cache });
    isRight(found);
    if (!canCompile) assert.equal(found.tier, 'wasm');
    else if (found.tier === 'wasm') assert.match(found.reason!, /is not faster/);
  }));

test(`a Node that gives its modules only later goes over to ${reached}, too`, () =>
  inFolder(async (cache) => {
    const older = ['--import', 'data:text/javascript,delete process.getBuiltinModule'];
    const found = await inProcess('in turns', { KAON_CACHE: cache }, older);
    isRight(found);
    if (!canCompile) assert.equal(found.tier, 'wasm');
    else if (found.tier === 'wasm') assert.match(found.reason!, /is not faster/);
    assert.equal(readdirSync(cache).length > 0, canCompile);
  }));

test('a process ends when it wants to, and its compilers with it', () =>
  inFolder(async (folder) => {
    const compiler = join(folder, 'compiler');
    const probe = `case "$*" in *-dM*) echo '#define __BYTE_ORDER__ __ORDER_LITTLE_ENDIAN__'; exit 0;; esac`;
    writeFileSync(compiler, `#!/bin/sh\n${probe}\necho $$ >"$0.pid"; sleep 1000 & sleep 1000\n`, {
      mode: 0o755,
    });
    const cache = join(folder, 'cache');
    const found = await inProcess('leave', { KAON_CC: compiler, KAON_CACHE: cache });
    isRight(found);
    assert.equal(found.tier, 'wasm');
    const started = `${compiler}.pid`;
    if (!canCompile && !existsSync(started)) {
      assert.match(found.reason!, /koffi/);
      return;
    }
    const pid = Number(readFileSync(started, 'utf8'));
    let isGone = false;
    for (let attempt = 0; !isGone && attempt < 500; attempt++) {
      try {
        process.kill(pid, 0);
        await new Promise((resolve) => setTimeout(resolve, 10));
      } catch {
        isGone = true;
      }
    }
    assert.ok(isGone);
    assert.deepEqual(readdirSync(cache), []);
  }));
