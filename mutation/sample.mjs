import { readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { Instrumenter } from '@stryker-mutator/instrumenter';

/** Mutators of Stryker's that are left out: of texts, most of which are messages and names for people. */
const excludedMutations = ['StringLiteral', 'Regex'];

const silent = { isDebugEnabled: () => false, debug() {}, info() {}, warn() {}, error() {} };

/** Uniform numbers from a seed (mulberry32). */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The compiled files of a folder of `src`, generated ones excepted. */
export function compiledFiles(dist, folder) {
  return readdirSync(`${dist}/src/${folder}`, { recursive: true })
    .map((path) => `src/${folder}/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.js') && !path.includes('/proto/'))
    .sort();
}

/** Places of a compiled file that are tests themselves: the samples of operators and the cases of their laws. */
function testRanges(text) {
  const ranges = [];
  for (const { 0: key, index } of text.matchAll(/\b(samples: |cases: |const samples = )/g)) {
    const begin = index + key.length;
    let [end, depth] = [begin, 0];
    while (depth > 0 || !',;})]'.includes(text[end])) {
      if ('[({'.includes(text[end])) depth++;
      else if ('])}'.includes(text[end])) depth--;
      end++;
    }
    ranges.push([begin, end]);
  }
  return ranges;
}

/** True for mutants that no test can be asked to notice: of texts, and of what is a test itself. */
export const isExcluded = ({ kind, isOfTest }) => excludedMutations.includes(kind) || isOfTest;

/** All mutants of a compiled file, as edits of its text. */
export async function allMutants(dist, path) {
  const text = readFileSync(`${dist}/${path}`, 'utf8');
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  const offset = ({ line, column }) => starts[line] + column;
  const options = { excludedMutations: [], ignorers: [], plugins: null, noHeader: true };
  const { mutants } = await new Instrumenter(silent).instrument(
    [{ name: path, content: text, mutate: true }],
    options,
  );
  const tests = testRanges(text);
  const map = new SourceMap(JSON.parse(readFileSync(`${dist}/${path}.map`, 'utf8')));
  return mutants.map(({ location: { start, end }, mutatorName, replacement }) => ({
    path,
    begin: offset(start),
    end: offset(end),
    line: map.findEntry(start.line, start.column).originalLine + 1,
    kind: mutatorName,
    from: text.slice(offset(start), offset(end)),
    to: replacement,
    isOfTest: tests.some(([from, to]) => from <= offset(start) && offset(end) <= to),
  }));
}

/** Mutants that a seed chooses, each file as often as its length demands; excluded ones are drawn and dropped. */
export async function sampleMutants(dist, folder, seed, count) {
  const random = generator(seed);
  const files = compiledFiles(dist, folder);
  const sizes = files.map((path) => readFileSync(`${dist}/${path}`).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const known = new Map();
  const chosen = new Map();
  while (chosen.size < count) {
    let at = random() * total;
    const which = random();
    const k = sizes.findIndex((size) => (at -= size) < 0);
    if (!known.has(files[k])) known.set(files[k], await allMutants(dist, files[k]));
    const mutants = known.get(files[k]);
    if (mutants.length === 0) continue;
    const mutant = mutants[Math.floor(which * mutants.length)];
    chosen.set(`${mutant.path}:${mutant.begin}:${mutant.end}:${mutant.to}`, mutant);
  }
  return [...chosen.values()].filter((mutant) => !isExcluded(mutant));
}
