// Every operator and its gradients, beside PyTorch, NumPy, SciPy and mpmath; see README.md.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pythonOfOperators } from '../setup.mjs';
import { casesOf } from './cases.mjs';
import { Judge, pathOf, writeCases } from './exchange.mjs';
import { executor } from './execute.mjs';
import { problemsOfNames, referenceNames } from './names.mjs';
import { parseOptions, usage } from './options.mjs';
import { exercise } from './exercise.mjs';
import { parseRow, rowOf, scoreboard, textOfRow } from './scoreboard.mjs';

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

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = (path) => import(pathToFileURL(resolve(root, options.dist, path)).href);
const kn = await built('src/index.js');
const { registry } = await built('src/ops/registry.js');
const operators = await built('src/ops/index.js');
const { arrayType } = await built('src/front/core/array-type.js');
const { arrayOf } = await built('src/front/core/ndarray.js');
const { allocate } = await built('src/base/dtype.js');
const { writeElement } = await built('src/base/element.js');
const { encodeSafetensors } = await built('src/formats/safetensors.js');

const tables = referenceNames();
const forgotten = problemsOfNames([...registry.keys()], tables);
if (forgotten.length > 0) {
  console.error(forgotten.join('\n'));
  process.exit(1);
}
const strange = options.only.filter((name) => !registry.has(name));
if (strange.length > 0) {
  console.error(`there is no operator ${strange.join(', ')}; --list tells the names`);
  process.exit(2);
}
const wanted = [...registry.values()].filter(({ name }) => options.only.length === 0 || options.only.includes(name)); // prettier-ignore
if (options.list) {
  for (const { name } of wanted)
    console.log(`${name}: ${tables.references.get(name) ?? tables.absent.get(name)}`);
  process.exit(0);
}

const functions = new Map(
  Object.values(operators)
    .filter((each) => typeof each === 'function' && 'declaration' in each)
    .map((each) => [each.declaration.name, each]),
);
const kaon = executor({ kn, functions, arrayOf, arrayType, allocate, writeElement });
const judge = new Judge(pythonOfOperators());
const versions = await judge.versions();
console.log(`${versions}, Node ${process.versions.node}; ${options.tier.join(', ')}; seed ${options.seed}\n`); // prettier-ignore

// Rejected code leaves no results of its own to judge.
const rejected = [];
process.on('warning', ({ code, message }) => {
  if (code === 'KAON_NATIVE_DIFFERS') rejected.push(message);
});

const folder = options.keep ?? mkdtempSync(join(tmpdir(), 'kaon-parity-'));
mkdirSync(folder, { recursive: true });
const rows = [];
try {
  for (const declaration of wanted) {
    const { name, operands, family } = declaration;
    const absent = tables.absent.get(name);
    if (absent !== undefined) {
      rows.push(rowOf({ name, family, absent }));
      continue;
    }
    const found = join(folder, `${name}.json`);
    if (options.resume && existsSync(found)) {
      rows.push(parseRow(readFileSync(found, 'utf8')));
      continue;
    }
    const cases = exercise(kaon, name, casesOf(declaration, options), options.tier);
    const path = pathOf(folder, name);
    const spelled =
      typeof operands === 'string' ? operands : family === 'normalization' ? 'float' : 'keep';
    writeCases(path, { name, operands: spelled, cases }, encodeSafetensors);
    const row = rowOf({ name, family, cases, judged: await judge.judge(path) });
    if (options.keep === undefined) rmSync(path);
    else writeFileSync(found, textOfRow(row));
    rows.push(row);
    console.log(row.line);
    for (const line of row.details) console.log(`    ${line}`);
  }
} finally {
  await judge.close();
  if (options.keep === undefined) rmSync(folder, { recursive: true, force: true });
}
const { text, summary, wrong } = scoreboard(rows, { versions, options });
console.log(`\n${summary}`);
if (options.write !== null) writeFileSync(resolve(root, options.write), text);
for (const message of rejected) console.log(`    REJECTED ${message}`);
if (wrong + rejected.length > 0) process.exitCode = 1;
