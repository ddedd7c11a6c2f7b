import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout, importsOf, sourceFiles } from '../support/sources.js';

/** What each room may import besides itself. `base` is open to all. */
const below: Readonly<Record<string, readonly string[]>> = {
  base: [],
  graph: [],
  ir: ['graph'],
  loop: [],
  ops: ['ir', 'graph', 'loop'],
  passes: ['ops', 'ir', 'graph', 'loop'],
  kernels: ['ops', 'ir', 'loop'],
  codegen: ['loop'],
  formats: ['ops', 'ir', 'graph', 'loop'],
  source: ['graph'],
  runtime: ['passes', 'kernels', 'codegen', 'formats', 'ops', 'loop', 'ir', 'graph'],
  front: ['runtime', 'passes', 'formats', 'source', 'ops', 'ir', 'graph'],
  nn: ['front', 'formats', 'ops', 'ir'],
  artifact: ['front', 'passes', 'kernels', 'codegen', 'ops', 'loop', 'ir'],
  onnx: ['artifact', 'front', 'runtime', 'formats', 'ir'],
  onnxruntime: ['onnx', 'front', 'runtime', 'formats', 'ir'],
  stablehlo: ['onnx', 'artifact', 'front', 'formats', 'ir'],
  scale: ['stablehlo', 'nn', 'front', 'formats', 'ops'],
  cli: ['artifact', 'onnx.ts', 'front', 'runtime', 'passes', 'formats', 'source', 'ir', 'graph'],
  plugin: ['source'],
  register: ['source'],
  lint: ['front', 'ops'],
  'onnx.ts': ['onnx', 'formats'],
  'onnxruntime.ts': ['onnxruntime', 'formats'],
  'stablehlo.ts': ['stablehlo'],
  'scale.ts': ['scale'],
  'index.ts': ['nn', 'front', 'runtime', 'formats', 'ops', 'ir', 'graph'],
};

const room = (path: string): string => path.split('/')[1];

test('imports go down the floors and nowhere else', () => {
  const files = sourceFiles('src');
  assert.ok(files.length > 20);
  const wrong: string[] = [];
  for (const file of files) {
    const allowed = below[room(file.path)];
    assert.ok(allowed !== undefined, `${file.path} is in no room of the house`);
    for (const target of importsOf(file)) {
      const to = room(target);
      if (to !== room(file.path) && to !== 'base' && !allowed.includes(to)) {
        wrong.push(`${file.path} imports ${target}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

test('the page about the architecture names every room', () => {
  const page = readFileSync(join(checkout, 'docs/architecture.md'), 'utf8');
  const table = page.slice(page.indexOf('```\nF0 '), page.indexOf('```\n\nFiles'));
  assert.ok(table.length > 0);
  const files = sourceFiles('src');
  for (const name of Object.keys(below)) {
    assert.ok(
      files.some(({ path }) => room(path) === name),
      `there is no ${name}`,
    );
    assert.ok(table.includes(name.endsWith('.ts') ? name : ` ${name}/ `), `${name} is not there`);
  }
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
