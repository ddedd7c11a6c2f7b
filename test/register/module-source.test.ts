import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load } from '../../src/register/index.js';
import { isConvertible } from '../../src/register/module-source.js';
import { checkout } from '../support/sources.js';

const url = pathToFileURL(join(checkout, 'main.js')).href;

test('only files of JavaScript and TypeScript are converted', () => {
  assert.ok(isConvertible(url, 'module') && isConvertible(url, 'commonjs-typescript'));
  assert.ok(isConvertible(url, null));
  assert.ok(!isConvertible(url, 'json') && !isConvertible(url, 'wasm'));
  assert.ok(!isConvertible('node:fs', null) && !isConvertible('data:text/javascript,1', 'module'));
});

test('the hook of Node 20 converts what the one after it has loaded', async () => {
  const code = "export function f(x) { 'use graph'; return x ? 1 : 2; }";
  const loaded = { format: 'module', source: new TextEncoder().encode(code) };
  const result = await load(url, {}, () => Promise.resolve(loaded));
  assert.match(String(result.source), /kaon\/converted.*\n\/\/# sourceMappingURL=data:/s);
  assert.equal(result.format, 'module');
  const plain = { format: 'module', source: 'export const a = 1;' };
  assert.equal(await load(url, {}, () => Promise.resolve(plain)), plain);
  const common = { format: 'commonjs', source: code.replace('export', '') };
  await assert.rejects(
    load(url, {}, () => Promise.resolve(common)),
    { code: 'KAON_UNSUPPORTED' },
  );
});
