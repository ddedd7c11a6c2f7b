// node bench/kernels/rows.mjs [--software] [--kernels N] [WORDS ...]
// Where the time of rows of the benchmark goes on a GPU: a run by our clock, its commands, and its kernels by the GPU's.
import { parseArgs } from 'node:util';
import { wanted } from '../harness/options.mjs';
import { backendInUse, microseconds, withDriver } from './gpu.mjs';

const { values, positionals } = parseArgs({
  options: {
    software: { type: 'boolean', default: false },
    kernels: { type: 'string', default: '12' },
  },
  allowPositionals: true,
});
withDriver(values.software);
process.env.KAON_BENCH_DEVICE = 'webgpu';

const { rows } = await import('../rows/index.mjs');
const { kindsOf } = await import('../kaon/kinds.mjs');
const kinds = await kindsOf();

/** Milliseconds for which a form warms up, and the most runs that are timed. */
const warmup = 300;
const mostRuns = 50;

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

async function timed(run) {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Names of kernels with their number and milliseconds, those that take longest first. */
function byName(times) {
  const found = new Map();
  for (const { name, begin, end } of times) {
    const entry = found.get(name) ?? { count: 0, time: 0 };
    found.set(name, { count: entry.count + 1, time: entry.time + end - begin });
  }
  return [...found].sort(([, a], [, b]) => b.time - a.time);
}

async function show(title, run) {
  const first = await timed(run);
  const until = performance.now() + warmup;
  let runs = 0;
  while (performance.now() < until || runs < 3) {
    await run();
    runs++;
  }
  const times = [];
  for (let k = 0; k < Math.min(runs, mostRuns); k++) times.push(await timed(run));
  const backend = await backendInUse();
  const before = { ...backend.counts };
  await run();
  const counts = ['dispatches', 'submits', 'reads'].map((name) => `${backend.counts[name] - before[name]} ${name}`); // prettier-ignore
  const timer = backend.startTimer();
  await run();
  const kernels = byName(await timer.stop());
  const sum = kernels.reduce((total, [, { time }]) => total + time, 0);
  console.log(`\n${title}: median ${microseconds(median(times))}, best ${microseconds(Math.min(...times))}, first ${first.toFixed(0)} ms; ${counts.join(', ')}; kernels ${microseconds(sum)}`); // prettier-ignore
  for (const [name, { count, time }] of kernels.slice(0, Number(values.kernels))) {
    console.log(`  ${microseconds(time).padStart(10)} ${String(count).padStart(5)} times  ${name}`);
  }
}

for (const row of rows) {
  const { kind, tiers, threads, build, title } = row;
  if (kinds[kind] === undefined || tiers !== undefined || threads !== undefined) continue;
  if (!wanted(positionals, title)) continue;
  const inputs = build?.().inputs ?? {};
  for (const [form, make] of Object.entries(kinds[kind])) {
    try {
      const { run } = await make(inputs, row);
      if (run !== undefined) await show([title, form].filter(Boolean).join(', '), run);
    } catch (error) {
      console.log(`\n${title}, ${form}: ${error.message}`);
      process.exitCode = 1;
    }
  }
}
process.exit();
