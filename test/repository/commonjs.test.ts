import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { settings } from '../support/settings.js';
import { type Installed, installPackage, node, read, write } from '../support/package.js';

/* Programs of CommonJS require all entry points, and get what ES modules import. */

/** Uses everything that needs optional packages, and meets a module that has imported the same. */
const main = `
const kn = require('kaon');
const { fromOnnx, toOnnx } = require('kaon/onnx');
const { transform } = require('kaon/source');
const graph = kn.hybridize((x) => x.mul(2));
const x = kn.array([1, 2]);
graph(x);
const { inputNames: [name] } = fromOnnx(toOnnx(graph.graphFor(x)));
const { code } = transform("export function f(x) { 'use graph'; return x.sum() > 0 ? x : -x; }", { filename: 'f.js' });
import('./imported.mjs').then((imported) => {
  console.log(name, code.includes('kaon/converted'), imported.kn.NDArray === kn.NDArray, imported.toOnnx === toOnnx);
});
`;

const imported = `export * as kn from 'kaon';
export { toOnnx } from 'kaon/onnx';
`;

/** A project in the checkout, whose optional packages it sees. */
let installed: Installed;
/** The same elsewhere. */
let alone: Installed;
before(() => {
  installed = installPackage('commonjs');
  alone = { ...installed, folder: mkdtempSync(join(tmpdir(), 'kaon-commonjs-')) };
  cpSync(installed.folder, alone.folder, { recursive: true });
  write(installed, 'main.cjs', main);
  write(installed, 'imported.mjs', imported);
});
after(() => rmSync(alone.folder, { recursive: true }));

const { require_module: canRequire = false } = process.features as { require_module?: boolean };
const skip = !canRequire && 'this Node cannot require ES modules';

/** Prints what each entry point gives, required and imported. */
const both = `
const names = process.argv.slice(2);
const required = names.map((name) => require(name));
Promise.all(names.map((name) => import(name))).then((imported) => {
  const seen = imported.map((one, i) => {
    const other = required[i];
    const keys = (from) => Object.keys(from).filter((key) => key !== 'module.exports' && key !== '__esModule').sort();
    return { keys: [keys(one), keys(other)], same: keys(one).every((key) => one[key] === other[key]) };
  });
  console.log(JSON.stringify(seen));
});
`;

test('all entry points can be required, and are what is imported', { skip }, () => {
  const { exports } = JSON.parse(read(installed, 'package.json')) as { exports: object };
  // The first is for a flag of Node, the second for converted code; onnxruntime registers itself.
  const left = ['./register', './converted', './onnxruntime'];
  const names = Object.keys(exports).filter((name) => !left.includes(name)).map((name) => name.replace('.', 'kaon')); // prettier-ignore
  assert.ok(names.length > 7);
  write(installed, 'both.cjs', both);
  const seen = JSON.parse(node(installed.folder, 'both.cjs', ...names)) as {
    keys: [string[], string[]];
    same: boolean;
  }[];
  for (const [i, { keys, same }] of seen.entries()) {
    assert.ok(keys[0].length > 0 && same, names[i]);
    assert.deepEqual(keys[0], keys[1], names[i]);
  }
});

test('without the optional packages, errors say what to install', { skip }, () => {
  const uses = {
    '@bufbuild/protobuf': "require('kaon/onnx').fromOnnx(new Uint8Array())",
    '@babel/parser':
      "require('kaon/source').transform('function f() { \\'use graph\\'; }', { filename: 'f.js' })",
    unplugin: "require('kaon/plugin').vite()",
    '@bufbuild/protobuf ': "require('kaon/onnxruntime')",
  };
  const attempts = Object.values(uses).map(
    (use) => `try { ${use}; } catch (error) { seen.push([error.name, error.advice]); }`,
  );
  write(alone, 'missing.cjs', `const seen = [];\n${attempts.join('\n')}\nconsole.log(JSON.stringify(seen));\n`); // prettier-ignore
  const seen = JSON.parse(node(alone.folder, 'missing.cjs')) as [string, string][];
  assert.deepEqual(
    seen.map(([name]) => name),
    Object.keys(uses).map(() => 'UnsupportedError'),
  );
  for (const [i, name] of Object.keys(uses).entries()) assert.ok(seen[i][1].endsWith(` ${name.trim()}`), seen[i][1]); // prettier-ignore
});

test('with the optional packages, what is required works', { skip }, () => {
  assert.match(node(installed.folder, 'main.cjs'), /^\S+ true true true$/m);
  const plugin = `console.log(require('kaon/plugin').rollup().name, typeof require('kaon/onnxruntime').registerOnnxruntime);`;
  write(installed, 'plugin.cjs', plugin);
  assert.equal(node(installed.folder, 'plugin.cjs').trim(), 'kaon function');
});

/** What each bundler is told, whose own rules decide what require and import mean. */
const build = `const [, , bundler] = process.argv;
const dir = import.meta.dirname + '/' + bundler;
if (bundler === 'esbuild') {
  const { build } = await import('esbuild');
  await build({ entryPoints: ['main.cjs'], outfile: dir + '/main.mjs', bundle: true, platform: 'node', format: 'esm', logLevel: 'error' });
} else if (bundler === 'rolldown') {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ input: 'main.cjs', platform: 'node', logLevel: 'silent' });
  await bundle.write({ dir, entryFileNames: 'main.mjs' });
} else if (bundler === 'vite') {
  const { build } = await import('vite');
  await build({ configFile: false, logLevel: 'error', ssr: { noExternal: true }, build: { ssr: 'main.cjs', outDir: dir, rolldownOptions: { output: { entryFileNames: 'main.mjs' } } } });
} else {
  const make = bundler === 'webpack' ? (await import('webpack')).default : (await import('@rspack/core')).rspack;
  const options = { mode: 'none', target: 'node', context: import.meta.dirname, entry: './main.cjs', output: { path: dir, filename: 'main.cjs', chunkFilename: '[id].cjs' } };
  await new Promise((resolve, reject) => {
    make(options, (error, stats) => (error || stats.hasErrors() || stats.hasWarnings() ? reject(error ?? new Error(stats.toString())) : resolve()));
  });
}
`;

const bundlers = { esbuild: 'mjs', rolldown: 'mjs', vite: 'mjs', webpack: 'cjs', rspack: 'cjs' };

for (const [bundler, extension] of Object.entries(bundlers)) {
  const isLong = bundler !== 'esbuild' && bundler !== 'rolldown';
  const later = isLong && !settings.isLong && 'KAON_LONG_TESTS is not 1';
  test(`${bundler} bundles what CommonJS requires once`, { skip: later }, () => {
    write(installed, 'build.mjs', build);
    node(installed.folder, 'build.mjs', bundler);
    assert.match(node(installed.folder, `${bundler}/main.${extension}`), /^\S+ true true true$/m);
  });
}
