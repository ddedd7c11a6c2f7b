// node scripts/test.mjs [--out DIR] [--lax] [--alone] [--times] [--name PATTERN] [FILTER ...]
// Compiles into DIR (default dist) and runs the tests whose path holds one of the filters, all without one.
// With --lax, type errors elsewhere in the tree do not stop the tests. Files share processes (`batches.mjs`) unless
// --alone gives each its own. --times prints the processor time of the dearest processes at the end.
// --name runs the tests whose name matches a pattern: with the name of an operator, its laws.
// With KAON_VARIANTS=1, what every tier and number of threads must agree on runs once more on each of them;
// KAON_VARIANTS=native,threads names the ones that are wanted.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { batches } from './batches.mjs';
import { compile, root } from './setup.mjs';
import { softwareGpu } from './software-gpu.mjs';
import { beginTimes, timesTable } from './times.mjs';

/** Random programs; what else is in that folder makes them smaller, and is the same everywhere. */
const programs = ['first', 'second'].map((part) => `test/fuzz/${part}`);

/** The tests that say what programs compute, whatever computes it. */
const conformance = ['test/laws/', 'test/contract/', ...programs];

/** Whatever can be divided is, and runs wait for their workers: samples and random programs are small. */
const divided = { KAON_THREADS: '2', KAON_GRAIN: '1' };

/**
 * A compiler takes longer than all the rest: samples have fewer sizes, random programs are fewer, and only what
 * they capture is native.
 */
const compiled = { KAON_PROGRAMS: '39', KAON_FUZZ_TIER: 'native' };

/** Other ways to run programs than the one that all tests are run in: one thread of plain WebAssembly. */
const variants = {
  relaxed: [{ tests: conformance, env: { KAON_RELAXED: '1' } }],
  threads: [{ tests: conformance, env: divided }],
  native: [
    { tests: ['test/laws/execution'], env: { KAON_TIER: 'native' } },
    { tests: programs, env: compiled },
  ],
  'native-threads': [
    { tests: ['test/laws/execution'], env: { KAON_TIER: 'native', ...divided } },
    { tests: programs, env: { ...compiled, ...divided } },
  ],
  device: [{ tests: ['test/contract/'], env: {}, preload: 'test/support/on-device.js' }],
  memory64: [{ tests: conformance, env: { KAON_ADDRESSES: '64' }, lacks: memory64Lacks }],
  'memory64-threads': [
    { tests: conformance, env: { KAON_ADDRESSES: '64', ...divided }, lacks: memory64Lacks },
  ],
  // On the software driver where it has been unpacked, else on what the machine has.
  webgpu: [
    {
      tests: ['test/runtime/webgpu/', 'test/codegen/wgsl/', 'test/laws/webgpu', 'test/fuzz/webgpu', 'test/docs/devices'], // prettier-ignore
      env: softwareGpu() ?? {},
    },
    {
      tests: ['test/contract/'],
      env: softwareGpu() ?? {},
      preload: 'test/support/on-webgpu.js',
      lacks: (out) => reasonOf(`${out}/test/support/on-webgpu.js`, softwareGpu() ?? {}),
    },
  ],
};

/** Why WebAssembly has no memory of 64-bit addresses here; undefined where it has. */
function memory64Lacks() {
  const importsOne = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 2, 8, 1, 1, 0x65, 1, 0x6d, 2, 4, 0];
  return WebAssembly.validate(Uint8Array.from(importsOne))
    ? undefined
    : 'this engine has no memory64';
}

/** Why a module cannot be loaded, as it says itself; undefined where it can. */
function reasonOf(module, env) {
  const { status, stderr } = spawnSync(process.execPath, [`${root}${module}`], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return status === 0 ? undefined : stderr.trim().split('\n').at(-1);
}

/** Native code that is found to be wrong is not used, and a warning says so: here that is a failure. */
const strict = `data:text/javascript,process.on('warning', ({ code, message }) => {
  if (code === 'KAON_NATIVE_DIFFERS') throw new Error(message);
})`.replaceAll(/\s+/g, ' ');

/**
 * Most code of a test runs for milliseconds, and V8's optimizing compiler took up to two fifths of the processor time
 * for it: here it waits for code that runs longer. Node 22 and later, which decide otherwise, have no such flag.
 */
const patience = engineHas('--interrupt-budget') ? ['--interrupt-budget=1000000'] : [];

/** Whether this engine has a flag of that name. */
function engineHas(flag) {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  return stdout.split(/\s+/).includes(flag);
}

const { values, positionals } = parseArgs({
  options: {
    out: { type: 'string', default: 'dist' },
    lax: { type: 'boolean', default: false },
    alone: { type: 'boolean', default: false },
    times: { type: 'boolean', default: false },
    name: { type: 'string' },
  },
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

const list = values.times ? beginTimes(values.out) : null;

function run(files, environment, preload) {
  const { status } = spawnSync(
    process.execPath,
    [
      '--enable-source-maps',
      ...patience,
      '--test',
      '--test-reporter=spec',
      // One file at a time for each core; by itself the runner would leave one core to itself.
      `--test-concurrency=${availableParallelism()}`,
      ...(values.name === undefined ? [] : [`--test-name-pattern=${values.name}`]),
      ...(Object.keys(environment).length === 0 ? [] : ['--import', strict]),
      ...(preload === undefined ? [] : ['--import', `./${values.out}/${preload}`]),
      ...(list === null ? [] : ['--import', './scripts/times.mjs']),
      ...(values.alone ? files.map((file) => `${values.out}/${file}`) : batches(values.out, files)),
    ],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        KAON_TIER: 'wasm',
        KAON_RELAXED: '0',
        KAON_DEBUG: 'verify',
        ...(list === null ? {} : { KAON_TIMES: list }),
        ...process.env,
        ...environment,
      },
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
for (const name of names) {
  for (const { tests, env, preload, lacks } of variants[name]) {
    const shared = testFiles(tests).filter((file) => files.includes(file));
    if (shared.length === 0) continue;
    const reason = lacks?.(values.out);
    if (reason !== undefined) {
      console.log(`\n${name}: skipped, ${reason}`);
      continue;
    }
    console.log(
      `\n${name}: ${Object.entries(env)
        .map((entry) => entry.join('='))
        .join(' ')}`,
    );
    failed = run(shared, env, preload) !== 0 || failed;
  }
}
if (list !== null) console.log(`\n${timesTable(list)}`);
process.exit(failed ? 1 : 0);
