import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installPackage, node, write } from '../support/package.js';
import { checkout } from '../support/sources.js';

test('the example of the page about external engines compiles and runs', () => {
  const installed = installPackage('engines');
  const text = readFileSync(join(checkout, 'docs/engines.md'), 'utf8');
  const [, code] = /```ts\n([\s\S]*?)```/.exec(text)!;
  write(installed, 'example.ts', code);
  const settings = '--ignoreConfig --strict --module NodeNext --target ES2022 --lib ES2023,DOM'.split(' '); // prettier-ignore
  node(installed.folder, join(checkout, 'node_modules/typescript/bin/tsc'), ...settings, '--types', '', 'example.ts'); // prettier-ignore
  const printed = node(installed.folder, 'example.js');
  assert.equal(printed, "[ 2, 3 ]\n[ 'products', 'kaon' ]\n");
});
