// npm run mutation -- [--room NAME] [--file PATH] [--count N] [--seed N] [--shard I/N] [--budget SECONDS] [--near] [--survivors] [--report] [--unreached]
// Plants faults in the compiled sources, one at a time, and runs the tests that execute the place; see
// docs/contributing.md. What is known stays in .build/mutation and is not done again.
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { parseArgs } from 'node:util';
import { compile, root } from '../scripts/setup.mjs';
import { environment, reaches, reachOf } from './reach.mjs';
import { rooms } from './rooms.mjs';
import { allMutants, compiledFiles, isExcluded, sampleMutants } from './sample.mjs';

const { values: options } = parseArgs({
  options: {
    room: { type: 'string' },
    file: { type: 'string' },
    count: { type: 'string', default: '40' },
    seed: { type: 'string', default: '1' },
    shard: { type: 'string', default: '1/1' },
    budget: { type: 'string', default: '120' },
    near: { type: 'boolean', default: false },
    survivors: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    unreached: { type: 'boolean', default: false },
  },
});
const folder = `${root}.build/mutation`;
const dist = `${folder}/dist`;
const journal = `${folder}/results.jsonl`;
const planted = `${folder}/planted.json`;
const equivalents = JSON.parse(readFileSync(`${root}mutation/equivalent.json`, 'utf8'));

const keyOf = ({ path, line, from, to }) => `${path}:${line}: ${from} -> ${to}`;
const sourceOf = (path) => path.replace(/\.js$/, '.ts');
function lineOf({ path, line }) {
  const lines = readFileSync(`${root}${sourceOf(path)}`, 'utf8').split('\n');
  return lines[line - 1]?.trim();
}

/** The reason why no test can tell a mutant from the source; undefined without one. */
function reasonFor(mutant) {
  const source = mutant.source ?? lineOf(mutant);
  return equivalents.find(
    (each) =>
      each.file === sourceOf(mutant.path) &&
      each.line === source &&
      each.from === mutant.from &&
      each.to === mutant.to,
  )?.reason;
}

function results() {
  if (!existsSync(journal)) return [];
  const lines = readFileSync(journal, 'utf8').trim().split('\n');
  const latest = new Map(lines.filter(Boolean).map((line) => {
    const result = JSON.parse(line);
    return [`${result.room} ${result.seed} ${keyOf(result)}`, result];
  })); // prettier-ignore
  return [...latest.values()];
}

/** The test files of a room; with `--near` only those of the folder of its name. */
function testsOf(room) {
  const prefixes = options.near ? [`${room}/`] : rooms[room];
  return readdirSync(`${dist}/test`, { recursive: true })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.test.js'))
    .filter((path) => prefixes.some((prefix) => path.startsWith(prefix)))
    .map((path) => `test/${path}`)
    .sort();
}

/** The number of folders, or a name, that a test shares with a source. */
function closeness(test, path) {
  const [a, b] = [test, path].map((each) =>
    each
      .replace(/(\.test)?\.js$/, '')
      .split('/')
      .slice(1),
  );
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  return shared;
}

/** Places that tests execute, as far as that has been asked for. */
const measured = new Map();

/**
 * Outcome of the tests of a room with a fault in a source. Which places a test executes is measured when its turn
 * comes, which does not count as time of the tests: most mutants are killed by the tests beside their source.
 */
function outcomeOf(mutant, tests, budget) {
  const milliseconds = (test) => measured.get(test)?.milliseconds ?? 0;
  const nearest = [...tests].sort((a, b) => closeness(b, mutant.path) - closeness(a, mutant.path) || milliseconds(a) - milliseconds(b)); // prettier-ignore
  const file = `${dist}/${mutant.path}`;
  const text = readFileSync(file, 'utf8');
  // Whoever is stopped half-way leaves this behind.
  writeFileSync(planted, JSON.stringify({ file, text }));
  let spent = 0;
  let tried = 0;
  try {
    for (const [k, test] of nearest.entries()) {
      if (spent > 1000 * budget) {
        return { outcome: 'survived so far', tests: tried, left: nearest.length - k };
      }
      const reach = measured.get(test) ?? reachOf(dist, test);
      measured.set(test, reach);
      if (!reach.passes || !reaches(reach, mutant.path, mutant.begin)) continue;
      tried++;
      writeFileSync(file, text.slice(0, mutant.begin) + mutant.to + text.slice(mutant.end));
      const started = performance.now();
      const { status, error } = spawnSync(
        process.execPath,
        ['--enable-source-maps', `${dist}/${test}`],
        {
          env: { ...process.env, ...environment },
          stdio: 'ignore',
          timeout: 30_000 + 6 * Math.ceil(reach.milliseconds),
          killSignal: 'SIGKILL',
        },
      );
      spent += performance.now() - started;
      writeFileSync(file, text);
      if (status !== 0) {
        return { outcome: error === undefined ? 'killed' : 'timeout', by: test, tests: tried };
      }
    }
  } finally {
    restore();
  }
  return { outcome: tried === 0 ? 'not reached' : 'survived', tests: tried };
}

/** Puts the file back in which a fault was planted last, by this run or by one that was stopped. */
function restore() {
  if (!existsSync(planted)) return;
  const { file, text } = JSON.parse(readFileSync(planted, 'utf8'));
  writeFileSync(file, text);
  rmSync(planted);
}

function report() {
  const rows = results()
    .filter((result) => !isExcluded(result))
    .filter(({ seed, path }) =>
      options.file === undefined
        ? seed !== 'file'
        : seed === 'file' && sourceOf(path) === options.file,
    )
    .map((result) => ({ ...result, reason: reasonFor(result) }));
  const isKilled = ({ outcome }) => outcome === 'killed' || outcome === 'timeout';
  const summary = (list) => {
    const real = list.filter(({ reason }) => reason === undefined);
    const killed = real.filter(isKilled).length;
    return `${killed} of ${real.length} killed (${((100 * killed) / real.length).toFixed(1)} %), ${list.length - real.length} equivalent`;
  };
  for (const room of Object.keys(rooms)) {
    const list = rows.filter((row) => row.room === room);
    if (list.length > 0) console.log(`${room}: ${summary(list)}`);
  }
  console.log(`all: ${summary(rows)}`);
  for (const row of rows) {
    if (isKilled(row) || row.reason !== undefined) continue;
    console.log(
      `\n${row.outcome} (${row.kind}): ${sourceOf(row.path)}:${row.line}\n  ${row.source ?? lineOf(row)}`,
    );
    console.log(
      `  - ${row.from.replaceAll('\n', '\n    ')}\n  + ${row.to.replaceAll('\n', '\n    ')}`,
    );
  }
}

async function run() {
  if (!existsSync(dist)) compile(dist);
  restore();
  const [index, count] = options.shard.split('/').map(Number);
  const seed = options.file === undefined ? Number(options.seed) : 'file';
  const known = new Map(results().map((result) => [`${result.room} ${result.seed} ${keyOf(result)}`, result])); // prettier-ignore
  for (const room of Object.keys(rooms)) {
    if (options.room !== undefined && options.room !== room) continue;
    if (options.file !== undefined && !options.file.startsWith(`src/${room}/`)) continue;
    const chosen =
      options.file === undefined
        ? await sampleMutants(dist, room, seed, Number(options.count))
        : (await allMutants(dist, options.file.replace(/\.ts$/, '.js'))).filter(
            (mutant) => !isExcluded(mutant),
          );
    const mutants = chosen
      .filter((_, k) => k % count === index - 1)
      .filter((mutant) => {
        const result = known.get(`${room} ${seed} ${keyOf(mutant)}`);
        if (!options.survivors) return result === undefined;
        return result !== undefined && !['killed', 'timeout'].includes(result.outcome) && reasonFor(mutant) === undefined; // prettier-ignore
      });
    if (mutants.length === 0) continue;
    const tests = testsOf(room);
    for (const mutant of mutants) {
      const result = {
        room,
        seed,
        ...mutant,
        source: lineOf(mutant),
        ...outcomeOf(mutant, tests, Number(options.budget)),
      };
      appendFileSync(journal, `${JSON.stringify(result)}\n`);
      console.log(`${result.outcome}: ${keyOf(mutant).replaceAll('\n', ' ').slice(0, 160)}`);
    }
  }
}

/** Lists the lines with places for faults that no test of the floor executes, by file, the worst first. */
async function listUnreached() {
  if (!existsSync(dist)) compile(dist);
  restore();
  for (const room of Object.keys(rooms)) {
    if (options.room !== undefined && options.room !== room) continue;
    const reached = testsOf(room).map((test) => reachOf(dist, test));
    const files = [];
    for (const path of compiledFiles(dist, room)) {
      const mutants = (await allMutants(dist, path)).filter((mutant) => !isExcluded(mutant)); // prettier-ignore
      const missed = mutants.filter(({ begin }) => !reached.some((reach) => reaches(reach, path, begin))); // prettier-ignore
      const lines = [...new Set(missed.map(({ line }) => line))];
      files.push({ path, all: mutants.length, missed: missed.length, lines });
    }
    const sum = (of) => files.reduce((total, file) => total + of(file), 0);
    console.log(`${room}: ${sum(({ missed }) => missed)} of ${sum(({ all }) => all)} are not executed`); // prettier-ignore
    for (const { path, all, missed, lines } of files.sort((a, b) => b.missed - a.missed)) {
      if (missed > 0)
        console.log(`${sourceOf(path)}: ${missed} of ${all}, lines ${lines.join(' ')}`);
    }
  }
}

if (options.unreached) await listUnreached();
else {
  if (!options.report) await run();
  report();
}
