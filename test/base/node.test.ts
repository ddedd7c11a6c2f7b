import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { environmentVariable, importAll, isNodeLoading, nodeModules } from '../../src/base/node.js';

test("Node's modules are those that an import gives", async () => {
  const [all, later] = [nodeModules(), await importAll()];
  assert.equal(isNodeLoading(), false);
  assert.equal(all?.files.readFileSync, readFileSync);
  for (const [name, module] of Object.entries(later)) {
    const own = all?.[name as keyof typeof later] as Readonly<Record<string, unknown>>;
    assert.ok(Object.keys(own).length > 2, name);
    assert.equal(own[Object.keys(own)[0]], (module as typeof own)[Object.keys(own)[0]], name);
  }
});

/** Runs code in a process of its own, before and behind the import of the library as `kn`. */
function inProcess(before: string, behind: string): string {
  const index = new URL('../../src/index.js', import.meta.url).href;
  const code = `${before}\nconst kn = await import('${index}');\n${behind}`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return stdout.trim();
}

test('without a file system parameters are not saved, and paths are addresses', () => {
  const said = inProcess(
    'const { log } = console; delete globalThis.process;',
    `const net = new kn.nn.Dense(2, { inputs: 3 }).initialize();
    await net.saveParameters('x').catch((error) => log(error instanceof kn.UnsupportedError, error.advice));
    await net.loadParameters('http://127.0.0.1:9/x').catch((error) => log(error instanceof kn.FormatError, error.problem));`,
  );
  assert.deepEqual(said.split('\n'), [
    'true use the functions on bytes: toSafetensors and fromSafetensors',
    'true http://127.0.0.1:9/x cannot be fetched',
  ]);
});

test('an environment that may not be seen has no variables', () => {
  const before = process.env;
  const denied = (name: string): NodeJS.ProcessEnv =>
    new Proxy({}, {
      get: () => {
        throw Object.assign(new Error('Requires env access'), { name });
      },
    }); // prettier-ignore
  try {
    for (const name of ['NotCapable', 'PermissionDenied']) {
      process.env = denied(name);
      assert.equal(environmentVariable('KAON_TIER'), undefined);
    }
    process.env = denied('TypeError');
    assert.throws(() => environmentVariable('KAON_TIER'), { name: 'TypeError' });
  } finally {
    process.env = before;
  }
  assert.equal(environmentVariable('PATH'), process.env['PATH']);
});
