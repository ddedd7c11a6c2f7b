// node bench/main.mjs [--only WORD] [--json] [--rounds N]
// Every row of docs/performance.md with its peers in the same run; see harness.mjs for the method.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { measure } from './harness.mjs';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '7' },
  },
});

const modules = ['limits', 'contraction', 'mlp', 'elementwise', 'eager', 'graph'];
const report = {
  date: new Date().toISOString().slice(0, 10),
  processor: cpus()[0].model,
  node: process.version,
  rows: [],
};
for (const name of modules) {
  const { rows } = await import(`./rows/${name}.mjs`);
  for (const make of rows) {
    if (!make.title.includes(values.only)) continue;
    const row = await make.build();
    report.rows.push(
      row.figures === undefined ? await measure(row, { rounds: Number(values.rounds) }) : row,
    );
    if (!values.json) printRow(report.rows.at(-1));
  }
}
if (values.json) console.log(JSON.stringify(report, null, 2));
else
  console.log(
    `\n${report.processor}, Node ${report.node}, ${report.date}; best of ${values.rounds} alternating rounds; in brackets median / best time`,
  );

function printRow({ name, unit, note, figures }) {
  const cells = Object.entries(figures).map(([who, { best, noise }]) => {
    const shown = noise === undefined ? '' : ` (${noise.toFixed(2)})`;
    return `${who} ${best >= 100 ? best.toFixed(0) : best.toPrecision(3)}${shown}`;
  });
  console.log(
    `${name.padEnd(44)} ${unit.padEnd(9)} ${cells.join(' | ')}${note === undefined ? '' : `   ${note}`}`,
  );
}
process.exit(0);
