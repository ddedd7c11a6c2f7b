import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkout, importsOf, sourceFiles } from '../support/sources.js';

/* What `docs/architecture.md` and `docs/contributing.md` say of where tests lie. */

/** Test folders of a floor that no source folder has the name of: behavior that several folders make up. */
const topics: Readonly<Record<string, string>> = {
  'front/dynamic': 'arrays whose sizes the data decides, eager and captured',
  'front/memory': 'what arrays, recordings and captured code leave in memory',
  'passes/control': 'loops and branches through the whole pipeline',
  'source/random': 'random programs with control flow, in every form that captured code has',
};

/** Test folders beside those of the floors. */
const kinds: readonly string[] = [
  'arguments',
  'bench',
  'contract',
  'docs',
  'examples',
  'fuzz',
  'golden',
  'laws',
  'player',
  'repository',
  'security',
  'support',
  'types',
];

const below = (path: string): string => path.replace(/^[a-z]+\//, '');
const sources = sourceFiles('src');
const testFiles = sourceFiles('test');
const tests = testFiles.filter(({ path }) => path.endsWith('.test.ts'));
const floors = new Set(sources.map(({ path }) => path.split('/')[1]));
const floorOf = (path: string): string => path.split('/')[1];

test('the tests of a floor lie in folders that the floor has, or that are named by what they are about', () => {
  const folders = new Set(sources.map(({ path }) => below(dirname(path))));
  const others = new Set<string>();
  for (const { path } of tests) {
    const folder = below(dirname(path));
    if (floors.has(floorOf(path)) && folder.includes('/') && !folders.has(folder)) {
      others.add(folder);
    }
  }
  assert.deepEqual([...others].sort(), Object.keys(topics).sort());
});

test('the page about the architecture names every kind of test', () => {
  const page = readFileSync(join(checkout, 'docs/architecture.md'), 'utf8');
  const found = new Set(testFiles.map(({ path }) => floorOf(path)).filter((name) => !floors.has(name))); // prettier-ignore
  assert.deepEqual([...found].sort(), kinds);
  for (const kind of kinds) assert.ok(page.includes(`\`${kind}/\``), `${kind} is not there`);
});

/** Everything that files import, and what these import. */
function reached(from: readonly string[]): ReadonlySet<string> {
  const files = new Map([...sources, ...testFiles].map((file) => [file.path, file]));
  const found = new Set(from);
  const stack = [...from];
  for (let path = stack.pop(); path !== undefined; path = stack.pop()) {
    const file = files.get(path);
    if (file === undefined) continue;
    for (const target of importsOf(file)) {
      if (found.has(target)) continue;
      found.add(target);
      stack.push(target);
    }
  }
  return found;
}

/** Users import the first, which all tests of examples do; the others run as programs. */
const otherwise: ReadonlySet<string> = new Set(['index.ts', 'cli', 'lint']);

test('every source is part of what the tests of its floor load', () => {
  const missing: string[] = [];
  for (const floor of floors) {
    if (otherwise.has(floor)) continue;
    const own = sources.filter(({ path }) => floorOf(path) === floor);
    const loaded = reached(
      tests.map(({ path }) => path).filter((path) => floorOf(path) === floor.replace(/\.ts$/, '')),
    );
    missing.push(...own.map(({ path }) => path).filter((path) => !loaded.has(path)));
  }
  assert.deepEqual(missing, []);
});

/** How many sources have a test of their own path; the number may only grow. */
const leastMirrored = 185;

test('the sources with tests of their own are not fewer than they were', () => {
  const named = new Set(tests.map(({ path }) => below(path).replace(/\.test\.ts$/, '')));
  const mirrored = sources.filter(({ path }) => named.has(below(path).replace(/\.ts$/, '')));
  assert.ok(mirrored.length >= leastMirrored, `${mirrored.length} of ${sources.length}`);
});
