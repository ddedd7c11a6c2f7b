import assert from 'node:assert/strict';
import { basename, dirname } from 'node:path';
import { test } from 'node:test';
import { importsOf, sourceFiles } from '../support/sources.js';

/** The largest number of files in a folder whose files build on each other. */
const largestFolder = 16;

/** Folders of siblings that do not build on each other, which may be longer. */
const siblings: ReadonlySet<string> = new Set(['src/formats/onnx/rules', 'src/ops/elementwise']);

/** Files of one folder, by folder. */
function byFolder(paths: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    const folder = dirname(path);
    folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  return folders;
}

test('a folder holds at most as many files as one can keep in mind', () => {
  const folders = byFolder(sourceFiles('src').map(({ path }) => path));
  const long = [...folders].filter(([, files]) => files.length > largestFolder);
  assert.deepEqual(
    long.map(([folder]) => folder).sort(),
    [...siblings].sort(),
    'folders that are too long, and those that may be',
  );
});

/** Names that tools decide. */
const generated: ReadonlySet<string> = new Set(['onnx_pb.ts']);

test('files are named in kebab-case', () => {
  const wrong = ['src', 'test', 'examples']
    .flatMap((folder) => sourceFiles(folder))
    .map(({ path }) => path)
    .filter((path) => !generated.has(basename(path)))
    .filter((path) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.d)?\.ts$/.test(basename(path)));
  assert.deepEqual(wrong, []);
});

/** Places in which folders import each other: families of operators are written in terms of each other. */
const interwoven: readonly string[] = ['src/ops/'];

/** The file through which a folder is imported from outside, which may import all below it. */
const isEntry = (path: string): boolean => basename(path) === 'index.ts';

/** Folders that reach themselves through the imports of others, types included. */
function circles(below: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const reaches = (from: string): ReadonlySet<string> => {
    const found = new Set<string>();
    const stack = [...(below.get(from) ?? [])];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      stack.push(...(below.get(next) ?? []));
    }
    return found;
  };
  return [...below.keys()].filter((folder) => reaches(folder).has(folder)).sort();
}

test('folders import each other in one direction, types included', () => {
  const below = new Map<string, Set<string>>();
  for (const file of sourceFiles('src')) {
    if (isEntry(file.path) || interwoven.some((place) => file.path.startsWith(place))) continue;
    const folder = dirname(file.path);
    const targets = below.get(folder) ?? new Set();
    below.set(folder, targets);
    for (const target of importsOf(file)) {
      if (dirname(target) !== folder) targets.add(dirname(target));
    }
  }
  assert.ok(below.size > 40, `${below.size} folders`);
  assert.deepEqual(circles(below), []);
});
