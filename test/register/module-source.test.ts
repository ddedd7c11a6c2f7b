import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { load } from '../../src/register/index.js';
import { inputMapOf, isConvertible } from '../../src/register/module-source.js';
import { checkout } from '../support/sources.js';

const folder = join(checkout, '.build/register-source');
const url = pathToFileURL(join(folder, 'out/main.js')).href;
const source = pathToFileURL(join(folder, 'src/main.ts')).href;
before(() => mkdirSync(join(folder, 'out'), { recursive: true }));
after(() => rmSync(folder, { recursive: true, force: true }));

const map = { version: 3, sources: ['main.ts'], sourceRoot: '../src', names: [], mappings: 'AAAA' };
const text = JSON.stringify(map);
const inline = `data:application/json;charset=utf-8;base64,${Buffer.from(text).toString('base64')}`;

test('the map of a file is the one that its last comment names', () => {
  writeFileSync(join(folder, 'out/main.js.map'), text);
  for (const name of ['main.js.map', inline, `data:application/json,${encodeURIComponent(text)}`]) {
    for (const mark of ['#', '@']) {
      const code = `f();\n//# sourceMappingURL=other.map\ng();\n//${mark} sourceMappingURL=${name}\n`;
      assert.deepEqual(inputMapOf(code, url)?.sources, [source]);
    }
  }
  assert.equal(inputMapOf('f();', url), undefined);
  assert.equal(inputMapOf('//# sourceMappingURL=missing.map', url), undefined);
  assert.equal(inputMapOf('//# sourceMappingURL=https://example.com/a.map', url), undefined);
});

test('a map that is not JSON is refused', () => {
  writeFileSync(join(folder, 'out/broken.map'), '{');
  assert.throws(() => inputMapOf('//# sourceMappingURL=broken.map', url), {
    code: 'KAON_FORMAT',
    advice: /build the file again/,
  });
});

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
