import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inputMapOf } from '../../../src/source/maps/input-map.js';
import { checkout } from '../../support/sources.js';

const folder = join(checkout, '.build/input-map');
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
