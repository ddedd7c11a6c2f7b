// Every row of the benchmark with its peers in the same run; `--help` lists the options.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
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
process.env.KAON_BENCH_CLOCK = options.clock; // every process that is started measures by it
const asked = rows.filter(
  ({ title, threads }) =>
    wanted(options.only, title) && (threads === undefined || options.clock === 'wall'),
);

if (options.help) console.log(usage);
else if (options.list) console.log(asked.map(({ title }) => title).join('\n'));
else await measureAll();

async function measureAll() {
  const folder = mkdtempSync(join(tmpdir(), 'kaon-bench-'));
  const team = new Team();
  const limits = await Limits.start(folder, options.threads);
  const report = {
    date: new Date().toISOString().slice(0, 10),
    processor: cpus()[0].model,
    cores: cpus().length,
    node: process.version,
    compiler: limits.compiler,
    rounds: options.rounds,
    threads: options.threads,
    clock: options.clock,
    versions: team.versions,
    missing: team.missing,
    rows: [],
  };
  const streams = !options.json && !options.markdown;
  try {
    for (const row of asked) {
      const measured = await runRow(row, { options, team, limits, folder });
      report.rows.push(measured);
      if (streams) console.log(`${asText(measured)}\n`);
      else console.error(measured.title);
    }
  } finally {
    team.close();
    limits.close();
    rmSync(folder, { recursive: true });
  }
  if (options.output !== undefined) writeFileSync(options.output, JSON.stringify(report, null, 2));
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else if (options.markdown) process.stdout.write(asMarkdown(report));
  else console.log(`${machine(report)}\n${footer(report)}`);
  // A peer may miss its result; Kaon may not.
  if (report.rows.some(({ refused }) => refused.some(({ name }) => name.startsWith('kaon')))) {
    process.exitCode = 1;
  }
}
