import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installPackage } from '../support/package.js';
import { checkout } from '../support/sources.js';

/** The TypeScript examples of a page, in order. */
function examplesOf(page: string): readonly string[] {
  const text = readFileSync(join(checkout, page), 'utf8');
  return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code);
}

/** What an example prints, by its position on the page. */
const expected: readonly (readonly RegExp[])[] = [
  [
    /\[\[12\., 24\.\],\n\s*\[16\., 28\.\]\]/,
    /\[ 12, 16 \]/,
    /\[ \[ 2, 4 \], \[ 6, 8 \] \]/,
    /\[ 18 \]/,
  ],
  [/^\d\.\d+ -> 0\.0\d+$/m, /^step: 1 trace, 299 hits, 1 miss$/m],
  [/^true \[ 8, 10 \]$/m, /float32\[8, 10\]/, /^true$/m],
  [
    /^true hybridize: captured code changed between two calls/m,
    /expected: abs.* at .*example3\.(?:ts|js):\d+/,
    /actual: +neg.* at .*example3\.(?:ts|js):\d+/,
    /^\[ 1, 4, 9 \]$/m,
    /^square .*example3.*9/m,
  ],
  [/^\[ 4 \] \[ 3 \]$/m, /^1\.4142\d* 0\.3535\d*$/m, /^2\.5 -3$/m],
  [/^\[ 3, 2 \] 0$/m, /^true$/m],
  [/^\[ 'data', 'job\.json', 'state\.safetensors', 'step\.mlir' \]$/m],
];

test('the examples of the README compile against the package as published and print what they say', () => {
  const { folder } = installPackage('readme');
  const examples = examplesOf('README.md');
  assert.equal(examples.length, expected.length);
  examples.forEach((code, i) => writeFileSync(join(folder, `example${i}.ts`), code));
  const options = { cwd: checkout, encoding: 'utf8' } as const;
  const settings = [
    '--strict',
    '--module',
    'NodeNext',
    '--target',
    'ES2022',
    '--lib',
    'ES2023,DOM',
    '--types',
    'node',
    '--skipLibCheck',
  ];
  const files = examples.map((_, i) => join(folder, `example${i}.ts`));
  const compiled = spawnSync(
    process.execPath,
    ['node_modules/typescript/bin/tsc', '--ignoreConfig', ...settings, ...files],
    options,
  );
  assert.equal(compiled.status, 0, compiled.stdout + compiled.stderr);
  examples.forEach((_, i) => {
    const ran = spawnSync(process.execPath, [join(folder, `example${i}.js`)], options);
    assert.equal(ran.status, 0, ran.stderr);
    for (const pattern of expected[i]) assert.match(ran.stdout, pattern);
  });
});
