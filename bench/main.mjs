// node bench/main.mjs [--only WORDS] [--json | --markdown] [--rounds N]
// WORDS are part of a row's title, such as 'MLP', 'hybridized against eager' or 'first result'.
// Every row of docs/performance.md with its peers in the same run; see harness.mjs for the method.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measure } from './harness.mjs';
import { asMarkdown, asText, footer } from './report.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    markdown: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '7' },
  },
});

const modules = [
  'limits',
  'contraction',
  'mlp',
  'lstm',
  'loops',
  'elementwise',
  'eager',
  'hybridized',
  'firstresult',
  'graph',
];
const report = {
  date: new Date().toISOString().slice(0, 10),
  processor: cpus()[0].model,
  node: process.version,
  rounds: Number(values.rounds),
  rows: [],
};
const streams = !values.json && !values.markdown;
for (const name of modules) {
  const { rows } = await import(`./rows/${name}.mjs`);
  for (const make of rows) {
    if (!make.title.includes(values.only)) continue;
    const row = await make.build({ rounds: report.rounds });
    const measured =
      row.figures === undefined ? await measure(row, { rounds: report.rounds }) : row;
    report.rows.push(measured);
    if (streams) console.log(asText(measured));
  }
}
if (values.json) console.log(JSON.stringify(report, null, 2));
else if (values.markdown) console.log(asMarkdown(report));
else console.log(`\n${footer(report)}`);
process.exit(0);
