// node scripts/test.mjs [--out DIR] [--lax] [FILTER ...]
// Compiles into DIR (default dist) and runs the tests whose path holds one of the filters, all without one.
// With --lax, type errors elsewhere in the tree do not stop the tests.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compile, root } from './setup.mjs';

const { values, positionals } = parseArgs({
  options: { out: { type: 'string', default: 'dist' }, lax: { type: 'boolean', default: false } },
  allowPositionals: true,
});

try {
  compile(values.out);
} catch {
  if (!values.lax) process.exit(1);
  console.error('compiled with errors');
}

const files = readdirSync(`${root}${values.out}/test`, { recursive: true })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.test.js'))
  .filter(
    (file) =>
      positionals.length === 0 || positionals.some((filter) => `test/${file}`.includes(filter)),
  )
  .sort()
  .map((file) => `${values.out}/test/${file}`);
if (files.length === 0) {
  console.error('no test matches');
  process.exit(1);
}
const { status } = spawnSync(
  process.execPath,
  ['--enable-source-maps', '--test', '--test-reporter=spec', ...files],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
process.exit(status ?? 1);
