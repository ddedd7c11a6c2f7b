import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installPackage, node, write } from '../support/package.js';
import { checkout } from '../support/sources.js';

/** What each example of the page prints, by its position. */
const expected: readonly (readonly RegExp[])[] = [
  [
    /^1\.4142\d*$/m,
    // The derivative of the root of 9 is 1 / (2 * 3).
    /^(?:3|2\.99999\d*|3\.00000\d*) 0\.16\d*$/m,
    /^newton: 2 branches and loops$/m,
    /^ {2}if at 5:3\n {4}reads a\n {4}is left by return$/m,
    /^ {2}while at 8:3\n {4}reads x, a, steps\n {4}carries x, steps\n {4}returns x$/m,
  ],
  [/^\[ 3, 4 \] \[ 21, 3 \]$/m, /^1$/m],
  [/^\[ 10, 5 \]$/m, /^\[ 0 \]$/m],
  [/^\[ 5, 6 \]$/m],
  [/1\.9375, 1\.875, 1\.75, 1\.5, 1/s, /\[ 9 \]$/m, /^1$/m],
];

test('the examples of the page about plain control flow compile, convert as Node loads them, and run', () => {
  const installed = installPackage('control-flow');
  const text = readFileSync(join(checkout, 'docs/control-flow.md'), 'utf8');
  const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);
  assert.equal(examples.length, expected.length);
  examples.forEach((code, i) => write(installed, `example${i}.ts`, code));
  const settings = '--ignoreConfig --strict --module NodeNext --target ES2022 --lib ES2023,DOM --sourceMap'.split(' '); // prettier-ignore
  const files = examples.map((_, i) => `example${i}.ts`);
  node(installed.folder, join(checkout, 'node_modules/typescript/bin/tsc'), ...settings, '--types', '', ...files); // prettier-ignore
  examples.forEach((_, i) => {
    const printed = node(installed.folder, '--import', 'kaon/register', `example${i}.js`);
    for (const pattern of expected[i]) assert.match(printed, pattern);
  });
});
