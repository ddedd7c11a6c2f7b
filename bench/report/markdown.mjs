// All rows as the page docs/performance.md.
import { comparisons, limitsText, tiers as places } from './cells.mjs';
import { footer, machine } from './footer.mjs';
import { digits, inUnit } from '../harness/units.mjs';

function table(head, lines) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map(() => '---')), ...lines.map(row)].join('\n');
}

function targetTable(rows) {
  const lines = rows.flatMap(({ title, targets }) =>
    targets.map(({ who, wanted, measured, met }) => [
      title,
      who.trim(),
      wanted,
      measured ?? 'not measured',
      met === null ? '' : met ? 'met' : '**missed**',
    ]),
  );
  return table(['work', 'who', 'target', 'measured', ''], lines);
}

function contestantLines(row, tiers) {
  return Object.entries(row.figures).map(([name, figure], at) => {
    const times = Object.fromEntries(comparisons(row, name).map((c) => [c.tier, c.times]));
    const share = row.shares[name];
    return [
      at === 0 ? `${row.title}, ${row.unit}` : '',
      name,
      digits(inUnit(row, figure.best)),
      digits(inUnit(row, figure.median)),
      share === undefined ? '' : `${Math.round(share * 100)} %`,
      ...tiers.map((tier) => times[tier] ?? ''),
    ];
  });
}

function section(name, rows) {
  const tiers = places
    .map((place) => `kaon ${place}`)
    .filter((tier) =>
      rows.some(({ figures }) => Object.keys(figures).some((who) => who.startsWith(tier))),
    );
  const head = [
    'work',
    'who',
    'best',
    'median',
    'of the limit',
    ...tiers.map((tier) => `${tier} is`),
  ];
  const limited = rows.filter((row) => limitsText(row) !== '');
  const lines = rows.flatMap((row) => contestantLines(row, tiers));
  return [
    `## ${name}`,
    ...(lines.length === 0 ? [] : [table(head, lines)]),
    ...(limited.length === 0
      ? []
      : [limited.map((row) => `- Limits, ${row.title}: ${limitsText(row)}.`).join('\n')]),
  ].join('\n\n');
}

const method =
  'Contestants take turns in short rounds of one run, each in a process of its own, after their results were compared with a float64 reference. Best and median of the rounds; both are times, or rates where the unit is one. Columns such as "kaon wasm is" say how many times as fast as that contestant the fastest form of Kaon is on the tier, by the best rounds.';
const onProcessor =
  '"Of the limit" is the share of what the machine reaches in the same rounds, for contestants in WebAssembly what WebAssembly reaches: multiply-add on registers where computing takes longer, else copying as many bytes as the work must read and write. Operands are the same in every round, so that products of 5 to 512 rows find the panels of their right operand that they have kept (decision 43). Two threads are held against two processes at the same time.';
const onGpu =
  'Kaon, TensorFlow.js and jax-js compute by the same WebGPU, that of the package `webgpu` (Dawn); PyTorch by CUDA, with products of float32 in float32, shows what the GPU can do. A run ends when the GPU has computed it, so that the time of a short one is mostly that of a launch and a wait. "Of the limit" is the share of what WebGPU reaches in the same rounds: multiply-add of float32 on registers where computing takes longer, else copying as many bytes as the work must read and write, both without launch and wait.';

/** How the figures came about. */
function introduction({ adapter }) {
  return adapter === undefined
    ? `Printed by \`npm run bench -- --markdown\`. ${method} ${onProcessor}`
    : `Printed by \`npm run bench -- --device webgpu --markdown\`. ${method} ${onGpu}`;
}

export function asMarkdown(report) {
  const sections = [...new Set(report.rows.map((row) => row.section))];
  return `${[
    report.adapter === undefined ? '# Measured' : '# Measured on GPUs',
    introduction(report),
    machine(report),
    '## Targets',
    targetTable(report.rows),
    ...sections.map((name) => section(name, report.rows.filter((row) => row.section === name))), // prettier-ignore
    '## What took part',
    footer(report),
  ].join('\n\n')}\n`;
}
