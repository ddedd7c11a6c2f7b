// Every row of the benchmark with its peers in the same run; `--help` lists the options.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { softwareGpu } from '../scripts/software-gpu.mjs';
import { parseOptions, usage, wanted } from './harness/options.mjs';
import { runRow } from './harness/run.mjs';
import { Team } from './harness/team.mjs';
import { Limits } from './limits/index.mjs';
import { footer, machine } from './report/footer.mjs';
import { asMarkdown } from './report/markdown.mjs';
import { asText } from './report/text.mjs';
import { rows } from './rows/index.mjs';

const options = parseOptions(process.argv.slice(2));
if (options.dist !== undefined) {
  options.dist = resolve(options.dist);
  process.env.KAON_DIST = options.dist;
}
if (options.against !== undefined) options.against = resolve(options.against);
if (options.isGpu) process.env.KAON_BENCH_DEVICE = 'webgpu';
if (options.device === 'software-gpu') {
  const driver = softwareGpu();
  if (driver === null) throw new Error('node scripts/software-gpu.mjs unpacks the software driver');
  Object.assign(process.env, driver);
}
process.env.KAON_BENCH_CLOCK = options.clock; // every process that is started measures by it
/** Rows about tiers, threads or the host are of the CPU. */
const isOfCpu = ({ kind, tiers, threads, needsGpu, needsCpu }) =>
  needsCpu || (!needsGpu && (kind === undefined || (tiers ?? threads) !== undefined));
const asked = rows.filter((row) => {
  if (!wanted(options.only, row.title)) return false;
  if (options.isGpu) return !isOfCpu(row);
  return !row.needsGpu && (row.threads === undefined || options.clock === 'wall');
});

if (options.help) console.log(usage);
else if (options.list) console.log(asked.map(({ title }) => title).join('\n'));
else if (options.from !== undefined) show(JSON.parse(readFileSync(options.from, 'utf8')));
else show(await measureAll());

/** The GPU of this run. */
function adapterName() {
  const script = fileURLToPath(new URL('harness/adapter.mjs', import.meta.url));
  return execFileSync(process.execPath, [script], { encoding: 'utf8' });
}

async function measureAll() {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-bench-'));
  const team = new Team(options.answerMilliseconds);
  const most = Math.max(...asked.flatMap(({ threads = [] }) => threads), 1);
  const limits = await Limits.start(folder, options, most);
  const report = {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0].model,
    cores: cpus().length,
    node: process.version,
    compiler: limits.compiler,
    rounds: options.rounds,
    threads: options.threads,
    clock: options.clock,
    ...(options.isGpu && { adapter: adapterName() }),
    versions: team.versions,
    missing: Object.assign(team.missing, limits.missing),
    rows: [],
  };
  // Whoever prints everything at the end can watch it on the other stream.
  const print = options.json || options.markdown ? console.error : console.log;
  try {
    for (const row of asked) {
      const measured = await runRow(row, { options, team, limits, folder });
      report.rows.push(measured);
      print(`${asText(measured)}\n`);
      // After each row, so that a run that is broken off has not been in vain.
      if (options.output !== undefined) writeFileSync(options.output, asJson(report));
    }
  } finally {
    team.close();
    limits.close();
    rmSync(folder, { recursive: true });
  }
  // A peer may miss its result; Kaon and a row may not.
  const isFatal = ({ name }) => name.startsWith('kaon') || name === 'row';
  if (report.rows.some(({ refused }) => refused.some(isFatal))) process.exitCode = 1;
  return report;
}

function asJson(report) {
  return JSON.stringify(report, null, 2);
}

function show(report) {
  if (options.json) console.log(asJson(report));
  else if (options.markdown) process.stdout.write(asMarkdown(report));
  else {
    if (options.from !== undefined) console.log(`${report.rows.map(asText).join('\n\n')}\n`);
    console.log(`${machine(report)}\n${footer(report)}`);
  }
}
