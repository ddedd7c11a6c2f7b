import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/* Importing the library does nothing but give its exports: whoever imports it and leaves notices nothing. */

const entries = [
  'index',
  'onnx',
  'onnxruntime',
  'artifact/index',
  'lint/index',
  'source/index',
  'scale',
  'stablehlo',
  'front/converted/index',
] as const;

/** Imports a module where whatever starts something is counted, and prints what was found. */
const script = `
  import childProcess from 'node:child_process';
  import { syncBuiltinESMExports } from 'node:module';
  import workers from 'node:worker_threads';
  const started = [];
  const { setTimeout: later } = globalThis;
  const counted = (home, name) => {
    const original = home[name];
    home[name] = function (...args) {
      started.push(name);
      return new.target === undefined ? original.apply(this, args) : new original(...args);
    };
  };
  for (const name of ['spawn', 'spawnSync', 'exec', 'execFile', 'fork']) counted(childProcess, name);
  counted(workers, 'Worker');
  syncBuiltinESMExports();
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) counted(globalThis, name);
  for (const name of ['Memory', 'Instance']) counted(WebAssembly, name);
  const state = () => ({
    resources: process.getActiveResourcesInfo().sort(),
    listeners: process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
    globals: Object.getOwnPropertyNames(globalThis).sort(),
  });
  const before = state();
  const { length } = Object.keys(await import(process.argv[1]));
  // The files of the modules are being closed.
  await new Promise((resolve) => later(resolve, 100));
  const after = state();
  console.log(JSON.stringify({ before, after, length, started }));`;

for (const entry of entries) {
  test(`importing ${entry} prints nothing, starts nothing, and keeps no process alive`, () => {
    const module = new URL(`../../src/${entry}.js`, import.meta.url).href;
    const options = ['--pending-deprecation', '--input-type=module', '--eval', script, module];
    const env = { ...process.env, KAON_THREADS: '2', KAON_TIER: 'native', NODE_OPTIONS: '' };
    const { status, stdout, stderr } = spawnSync(process.execPath, options, {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(stderr, '');
    assert.equal(status, 0, 'it ended by itself');
    const lines = stdout.trim().split('\n');
    assert.equal(lines.length, 1, stdout);
    const { before, after, length, started } = JSON.parse(lines[0]) as Readonly<
      Record<'before' | 'after' | 'length' | 'started', unknown>
    >;
    assert.deepEqual(after, before);
    assert.deepEqual(started, []);
    assert.ok(Number(length) > 0, 'it has exports');
  });
}
