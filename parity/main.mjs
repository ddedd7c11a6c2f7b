// Every example model, exported each way, executed by whoever is here, and compared with eager results.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { outsideEngines } from './engines.mjs';
import { parseOptions, usage, wanted } from './options.mjs';
import { setup } from './setup.mjs';
import { Notes, rowsOf, tablePrinter } from './table.mjs';

let options;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error.message}\n\n${usage}`);
  process.exit(2);
}
if (options.help) {
  console.log(usage);
  process.exit(0);
}

const root = fileURLToPath(new URL('..', import.meta.url));
const built = (path) => import(pathToFileURL(resolve(root, options.dist, path)).href);
const { models } = await built('examples/shipping/models.js');
const { carryOut, sizesText } = await built('examples/shipping/carryout.js');
const { elementsOf } = await built('examples/shipping/feeds.js');
const { tolerance } = await built('examples/shipping/compare.js');
const { ways: ownWays } = await built('examples/shipping/ways/index.js');
const { seeded } = await built('examples/support/random.js');
const kn = await built('src/index.js');
const { statesOf } = await built('src/onnx.js');
const npy = await built('src/formats/npy.js');

const names = Object.keys(models).filter((name) => wanted(options.only, name));
const ways = [...ownWays, ...outsideEngines({ ...npy, elementsOf, statesOf })].filter(({ name }) => wanted(options.ways, name)); // prettier-ignore
if (options.list) {
  console.log([...names, '', ...ways.map(({ name }) => name)].join('\n'));
  process.exit(0);
}
if (names.length === 0 || ways.length === 0) {
  console.error('nothing has such a name; --list tells the names');
  process.exit(2);
}

setup();
const present = [];
console.log('Executed by');
for (const way of ways) {
  const { what, missing } = await way.available();
  console.log(`  ${way.name}: ${what ?? `not here: ${missing}`}`);
  if (missing === undefined) present.push(way);
}
console.log('');

const folder = options.keep ?? mkdtempSync(join(tmpdir(), 'kaon-parity-'));
const notes = new Notes();
const problems = [];
console.log(
  `Greatest errors beside eager results, in units of the tolerance: ${tolerance} of an output's greatest element\n`,
);
const column = (heading, least) => ({ heading, width: Math.max(heading.length, least) });
const printRow = tablePrinter(
  [
    column('model', Math.max(...names.map(({ length }) => length))),
    column('run', 32),
    ...present.map(({ name }) => column(name, 11)),
  ],
  console.log,
);
try {
  for (const name of names) {
    kn.random.seed(options.seed);
    const model = models[name](seeded(options.seed));
    const files = join(folder, name.replaceAll(/\W+/g, '-'));
    mkdirSync(files, { recursive: true });
    const outcomes = await carryOut(model, present, files);
    const sizes = model.runs.map((_, i) => sizesText(model, i));
    for (const row of rowsOf(name, sizes, outcomes, notes)) printRow(row);
    outcomes.forEach((outcome, i) => {
      const what = `${name}, ${present[i].name}`;
      if (outcome.kind === 'failed') problems.push(`${what}: ${outcome.why}`);
      if (outcome.kind === 'ran') problems.push(...outcome.problems.map((each) => `${what}: ${each}`));
    }); // prettier-ignore
  }
} finally {
  if (options.keep === undefined) rmSync(folder, { recursive: true, force: true });
}

for (const line of notes.lines()) console.log(line);
const counts = `${names.length} models, ${present.length} ways`;
if (problems.length === 0) console.log(`\n${counts}: no difference`);
else {
  console.error(`\n${counts}: ${problems.length} differences and failures`);
  for (const problem of problems) console.error(`  ${problem}`);
  process.exitCode = 1;
}
