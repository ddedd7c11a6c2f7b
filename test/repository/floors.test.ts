import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout, importsOf, sourceFiles } from '../support/sources.js';

const page = 'docs/architecture.md';

/** Floors by name, and what each may import besides itself and `base`, which is open to all: the table of the page. */
function floorsOfPage(): ReadonlyMap<string, ReadonlySet<string>> {
  const text = readFileSync(join(checkout, page), 'utf8');
  const table = text.slice(text.indexOf('```\nF0 ') + 4, text.indexOf('```\n\nFiles'));
  // A floor begins after the three columns of its number; what it imports is the last column.
  const entries = table.split(/^(?=(?:F\d| {2}) \S)/m);
  const floors = new Map<string, ReadonlySet<string>>();
  for (const entry of entries) {
    const name = /^.{3}([\w.]+)/.exec(entry)?.[1] ?? '';
    const column = /.*(?: {3}|imports: )(\S.*)\n$/.exec(entry)?.[1] ?? '';
    const before = [...floors.keys()];
    const [, last] = /^(\w+) (?:and )?below$/.exec(column) ?? [];
    const range = last === 'any' ? before : before.slice(0, before.indexOf(last) + 1);
    floors.set(name, new Set(last !== undefined ? range : column.split(' ')));
    const entryPoint = /`(\w+\.ts)` is its entry/.exec(entry)?.[1];
    if (entryPoint !== undefined) floors.set(entryPoint, new Set([name, ...floors.get(name)!]));
  }
  return floors;
}

const floors = floorsOfPage();
const floorOf = (path: string): string => path.split('/')[1];

test('imports go down the floors and nowhere else', () => {
  const files = sourceFiles('src');
  assert.ok(files.length > 20);
  const wrong: string[] = [];
  for (const file of files) {
    const own = floorOf(file.path);
    const allowed = floors.get(own);
    assert.ok(allowed !== undefined, `${file.path}: ${own} is no floor of the table in ${page}`);
    for (const target of importsOf(file)) {
      const to = floorOf(target);
      if (to !== own && to !== 'base' && !allowed.has(to)) {
        wrong.push(`${file.path} imports ${target}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test('every floor of the page exists, and imports floors above it in the table only', () => {
  const files = sourceFiles('src');
  const seen = new Set<string>();
  for (const [name, imports] of floors) {
    const exists = files.some(({ path }) => floorOf(path) === name);
    assert.ok(exists, `there is no ${name}`);
    for (const below of imports)
      assert.ok(seen.has(below) || below === 'nothing', `${name} is above ${below}`);
    seen.add(name);
  }
  assert.deepEqual([...floors.get('passes')!].toSorted(), ['graph', 'ir', 'loop', 'ops']);
  assert.deepEqual(floors.get('onnx.ts'), new Set(['onnx', ...floors.get('onnx')!]));
  assert.ok(!floors.get('index.ts')!.has('artifact') && floors.get('index.ts')!.has('nn'));
});

/** What only some entry points load, or what the package bundles, and where that is. */
const optional: readonly (readonly [string, RegExp])[] = [
  ['src/formats/npz.ts', /^fflate$/],
  ['src/formats/onnx/proto/', /^@bufbuild\/protobuf(\/|$)/],
  ['src/onnxruntime/', /^onnxruntime-web$/],
  ['src/plugin/', /^unplugin$/],
  ['src/source/', /^@babel\/(parser|types)$/],
];

test('the core has no runtime dependency', () => {
  const foreign: string[] = [];
  for (const file of sourceFiles('src')) {
    for (const match of file.text.matchAll(
      /^(?:import|export|\}).*\sfrom '([^.'][^']*)'|import\('([^.'][^']*)'\)/gm,
    )) {
      const target = match[1] ?? match[2];
      if (optional.some(([folder, name]) => file.path.startsWith(folder) && name.test(target))) {
        continue;
      }
      if (!target.startsWith('node:')) foreign.push(`${file.path} imports ${target}`);
    }
  }
  assert.deepEqual(foreign, []);
});
