// node scripts/accuracy.mjs sums [--terms=1e4,1e5,1e6,1e7] [--ways=wasm,native,threads] [--cases=TEXT]
// Prints how far folds, scans, products and gradients of broadcasts are from what is exact, and fails where
// a bound of decision 45 is exceeded. One process computes in each way.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import * as kn from '../src/index.js';
import { type Case, cases, type Problem } from './sums/cases.js';
import { type Kind, kinds } from './sums/terms.js';

/** The processes, by name, with their environment and with how they call what they measure. */
const ways = {
  wasm: { env: { KAON_TIER: 'wasm' }, forms: ['eager', 'captured'] },
  native: { env: { KAON_TIER: 'native' }, forms: ['eager', 'captured'] },
  threads: { env: { KAON_TIER: 'wasm', KAON_THREADS: '2' }, forms: ['captured'] },
} as const;
type Way = keyof typeof ways;

/** One measurement. */
interface Cell {
  readonly name: string;
  readonly form: string;
  readonly kind: Kind;
  readonly terms: number;
  /** Relative to the magnitudes of the terms, the greatest of all elements. */
  readonly error: number;
  readonly bound: number | null;
}

const { values } = parseArgs({
  options: {
    terms: { type: 'string', default: '1e4,1e5,1e6,1e7' },
    ways: { type: 'string', default: 'wasm,native,threads' },
    cases: { type: 'string', default: '' },
    measure: { type: 'string' },
  },
});
const sizes = values.terms.split(',').map(Number);
const unit = 2 ** -24;

/** The greatest error of one result. */
function errorOf({ inputs, reference }: Problem, run: Problem['run']): number {
  const found = run(...inputs).dataSync();
  const exact = reference();
  let worst = 0;
  for (let k = 0; k < found.length; k++) {
    const distance = Math.abs(Number(found[k]) - exact.value(k));
    if (distance === 0) continue;
    worst = Math.max(worst, distance / exact.magnitude(k));
    if (Number.isNaN(distance)) return NaN;
  }
  return worst;
}

/** Whether there is a compiler, and a way to load what it makes. */
function reachesNativeCode(): boolean {
  const probe = kn.hybridize((x: kn.NDArray) => x.add(1), { verify: 'off' });
  probe(kn.ones([2]));
  const tiers = probe.explain().traces.flatMap((trace) => trace.tiers);
  return tiers.length > 0 && tiers.every(({ tier }) => tier === 'native');
}

/** Case by case for the same terms, which take longer to draw than to add up. */
function measure(way: Way): Cell[] {
  if (way === 'native' && !reachesNativeCode()) return [];
  const chosen = cases.filter(({ name }) => name.includes(values.cases));
  return kinds.flatMap((kind) =>
    sizes.flatMap((terms) => chosen.flatMap((one) => cellsOf(way, one, kind, terms))),
  );
}

function cellsOf(way: Way, { name, bound, make }: Case, kind: Kind, terms: number): Cell[] {
  const problem = make(terms, kind);
  if (problem === null) return [];
  const reference = problem.reference();
  return ways[way].forms.map((form) => {
    const run = form === 'eager' ? problem.run : kn.hybridize(problem.run, { verify: 'off' });
    const error = errorOf({ ...problem, reference: () => reference }, run);
    return { name, form, kind, terms, error, bound: bound === null ? null : bound(terms) };
  });
}

/** The measurements of a process of its own, which has its settings from the start. */
function measuredApart(way: Way): Cell[] {
  const args = [`--terms=${values.terms}`, `--cases=${values.cases}`, `--measure=${way}`];
  const text = execFileSync(process.execPath, [fileURLToPath(import.meta.url), ...args], {
    env: { ...process.env, ...ways[way].env },
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 28,
    encoding: 'utf8',
  });
  return JSON.parse(text) as Cell[];
}

const shown = (error: number | undefined): string =>
  error === undefined ? '' : error === 0 ? '0' : error.toExponential(1);

function report(): void {
  const exceeded: string[] = [];
  for (const way of values.ways.split(',') as Way[]) {
    const cells = measuredApart(way);
    if (cells.length === 0) {
      console.log(`\n### ${way}\n\nNothing to measure here.`);
      continue;
    }
    for (const form of ways[way].forms) {
      const own = cells.filter((cell) => cell.form === form);
      console.log(`\n### ${way}, ${form}\n`);
      console.log('Relative to the sum of magnitudes; for equal terms / terms of one sign / normal terms.\n'); // prettier-ignore
      console.log(`| | ${sizes.map((terms) => terms.toExponential()).join(' | ')} | bound |`);
      console.log(`| --- |${sizes.map(() => ' --- |').join('')} --- |`);
      for (const { name } of cases) {
        const row = own.filter((cell) => cell.name === name);
        if (row.length === 0) continue;
        const at = (terms: number): string =>
          kinds
            .map((kind) =>
              shown(row.find((cell) => cell.terms === terms && cell.kind === kind)?.error),
            )
            .join(' / ');
        const bounds = new Set(row.map(({ bound }) => (bound === null ? '' : bound > 1000 ? 'n u' : shown(bound * unit)))); // prettier-ignore
        console.log(`| ${name} | ${sizes.map(at).join(' | ')} | ${[...bounds].join(' to ')} |`);
        for (const { kind, terms, error, bound } of row) {
          if (bound === null || error <= bound * unit) continue;
          exceeded.push(`${way}, ${form}: ${name}, ${terms} ${kind} terms: ${error}, more than ${bound * unit}`); // prettier-ignore
        }
      }
    }
  }
  if (exceeded.length === 0) return;
  console.error(`\n${exceeded.join('\n')}`);
  process.exitCode = 1;
}

if (values.measure === undefined) report();
else process.stdout.write(JSON.stringify(measure(values.measure as Way)));
