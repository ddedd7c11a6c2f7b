// node scripts/test.mjs [--out DIR] [--lax] [FILTER ...]
// Compiles into DIR (default dist) and runs the tests whose path holds one of the filters, all without one.
// With --lax, type errors elsewhere in the tree do not stop the tests.
// With KAON_VARIANTS=1, what every tier and number of threads must agree on runs once more on each of them;
// KAON_VARIANTS=native,threads names the ones that are wanted.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { compile, root } from './setup.mjs';

/** Other ways to run programs than the one that all tests are run in: one thread of plain WebAssembly. */
const variants = {
  relaxed: { KAON_RELAXED: '1' },
  threads: { KAON_THREADS: '2' },
  native: { KAON_TIER: 'native' },
  'native-threads': { KAON_TIER: 'native', KAON_THREADS: '2' },
};

/** The tests that say what programs compute, whatever computes it. */
const conformance = ['test/laws/', 'test/contract/', 'test/fuzz/'];

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

/** The compiled tests whose path holds one of the filters. */
function testFiles(filters) {
  return readdirSync(`${root}${values.out}/test`, { recursive: true })
    .map((file) => `test/${file.replaceAll('\\', '/')}`)
    .filter((file) => file.endsWith('.test.js'))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort();
}

function run(files, environment) {
  const { status } = spawnSync(
    process.execPath,
    [
      '--enable-source-maps',
      '--test',
      '--test-reporter=spec',
      // One file at a time for each core; by itself the runner would leave one core to itself.
      `--test-concurrency=${availableParallelism()}`,
      ...files.map((file) => `${values.out}/${file}`),
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: { KAON_TIER: 'wasm', KAON_RELAXED: '0', ...process.env, ...environment },
    },
  );
  return status ?? 1;
}

/** The variants that the environment asks for. */
function wantedVariants() {
  const wanted = process.env.KAON_VARIANTS ?? '';
  const names = wanted === '1' ? Object.keys(variants) : wanted.split(',').filter(Boolean);
  for (const name of names) {
    if (Object.hasOwn(variants, name)) continue;
    console.error(`KAON_VARIANTS: ${name} is none of ${Object.keys(variants).join(', ')}, nor 1`);
    process.exit(1);
  }
  return names;
}

const names = wantedVariants();
const files = testFiles(positionals);
if (files.length === 0) {
  console.error('no test matches');
  process.exit(1);
}
let failed = run(files, {}) !== 0;
const shared = testFiles(conformance).filter((file) => files.includes(file));
for (const name of names) {
  if (shared.length === 0) break;
  console.log(`\n${name}: ${Object.entries(variants[name]).map((entry) => entry.join('=')).join(' ')}`); // prettier-ignore
  failed = run(shared, variants[name]) !== 0 || failed;
}
process.exit(failed ? 1 : 0);
