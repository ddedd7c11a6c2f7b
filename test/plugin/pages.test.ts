import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { answerOfPage, findBrowser, type ServedFile } from '../support/browser.js';
import { type Installed, installPackage, node, write } from '../support/package.js';

/* A page that trains by a converted step, built with all of Kaon by each bundler, runs in a browser. */

/** The step scales errors down until none is above 1, and takes a third of steep gradients. */
const main = `import * as kn from 'kaon';

function step(w: kn.NDArray, x: kn.NDArray, y: kn.NDArray): { w: kn.NDArray; loss: kn.NDArray } {
  'use graph';
  w.attachGrad();
  const loss = kn.autograd.record(() => {
    let error = kn.matmul(x, w).sub(y);
    while (error.abs().max().greater(1)) error = error.mul(0.5);
    return error.mul(error).mean();
  });
  let [grad] = kn.autograd.grad(loss, [w]);
  if (grad.abs().max().greater(0.5)) grad = grad.mul(0.25);
  return { w: w.sub(grad.mul(0.5)).detach(), loss };
}

async function train(): Promise<unknown> {
  const captured = kn.hybridize(step);
  const x = kn.array([[1, 2], [-1, 0.5], [3, -2]]);
  const y = kn.array([5, 0, -1]);
  let w = kn.zeros([2]);
  const losses: number[] = [];
  for (let k = 0; k < 12; k++) {
    const next = captured(w, x, y);
    losses.push(next.loss.item() as number);
    w = next.w;
  }
  return { losses, w: w.tolist(), traces: captured.explain().traces.length };
}

const answer = (body: unknown): Promise<unknown> => fetch('/done', { method: 'POST', body: JSON.stringify(body) });
train().then(answer, (error: Error) => answer({ error: String(error.stack) }));
`;

/** Losses and weights of the same training in plain numbers. */
function plainTraining(): { losses: readonly number[]; w: readonly number[] } {
  const x = [[1, 2], [-1, 0.5], [3, -2]]; // prettier-ignore
  const y = [5, 0, -1];
  let w = [0, 0];
  const losses: number[] = [];
  for (let k = 0; k < 12; k++) {
    let scale = 1;
    const errors = x.map((row, i) => row[0] * w[0] + row[1] * w[1] - y[i]);
    while (Math.max(...errors.map((each) => Math.abs(each * scale))) > 1) scale /= 2;
    losses.push(errors.reduce((sum, each) => sum + (each * scale) ** 2, 0) / 3);
    const grad = [0, 1].map(
      (j) => errors.reduce((sum, each, i) => sum + 2 * each * scale * scale * x[i][j], 0) / 3,
    );
    const factor = Math.max(...grad.map(Math.abs)) > 0.5 ? 0.125 : 0.5;
    w = w.map((each, j) => each - factor * grad[j]);
  }
  return { losses, w };
}

const build = `import * as kaon from 'kaon/plugin';
import { stripTypeScript } from './strip.mjs';

const [, , bundler] = process.argv;
const file = bundler + '.js';
const typescript = { name: 'typescript', transform: (code, id) => (id.endsWith('.ts') ? stripTypeScript(code) : null) };
/** Resolution of packages, which Rollup leaves to plugins. */
const packages = {
  name: 'packages',
  resolveId: (id) => (/^kaon(\\/|$)/.test(id) ? import.meta.resolve(id).replace('file://', '') : null),
};
const rules = [{ test: /\\.ts$/, use: './strip.cjs' }];
const output = { path: import.meta.dirname + '/pages', filename: file };
const run = (make, options) =>
  new Promise((resolve, reject) => {
    make({ mode: 'production', entry: './main.ts', target: 'web', output, module: { rules }, ...options }, (error, stats) =>
      error || stats.hasErrors() ? reject(error ?? new Error(stats.toString())) : resolve());
  });
if (bundler === 'rollup') {
  const { rollup } = await import('rollup');
  const bundle = await rollup({ input: 'main.ts', plugins: [kaon.rollup(), typescript, packages], onwarn: () => {} });
  await bundle.write({ file: 'pages/' + file, inlineDynamicImports: true });
} else if (bundler === 'rolldown') {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ input: 'main.ts', plugins: [kaon.rolldown()], tsconfig: false, platform: 'browser', logLevel: 'silent' });
  await bundle.write({ file: 'pages/' + file, codeSplitting: false });
} else if (bundler === 'vite') {
  const { build } = await import('vite');
  await build({
    configFile: false, logLevel: 'error', plugins: [kaon.vite()],
    build: { outDir: 'pages', emptyOutDir: false, target: 'es2022', rolldownOptions: { input: 'main.ts', output: { entryFileNames: file, codeSplitting: false } } },
  });
} else if (bundler === 'esbuild') {
  const { build } = await import('esbuild');
  await build({ entryPoints: ['main.ts'], outfile: 'pages/' + file, bundle: true, format: 'esm', target: 'es2022', plugins: [kaon.esbuild()], logLevel: 'error' });
} else if (bundler === 'webpack') {
  const { default: webpack } = await import('webpack');
  // Its minifier takes a minute for all of Kaon, and is tried on the programs of the other test.
  await run(webpack, { optimization: { minimize: false }, plugins: [kaon.webpack(), new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })] });
} else {
  const { rspack } = await import('@rspack/core');
  await run(rspack, { plugins: [kaon.rspack(), new rspack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })] });
}
`;

const strip = `import { transformSync } from 'esbuild';
export const stripTypeScript = (code) => transformSync(code, { loader: 'ts' }).code;
`;

const loader = `const { transformSync } = require('esbuild');
module.exports = (code) => transformSync(code, { loader: 'ts' }).code;
`;

let installed: Installed;
before(() => {
  installed = installPackage('pages');
  write(installed, 'main.ts', main);
  write(installed, 'build.mjs', build);
  write(installed, 'strip.mjs', strip);
  write(installed, 'strip.cjs', loader);
});

interface Answer {
  readonly error?: string;
  readonly losses: readonly number[];
  readonly w: readonly number[];
  readonly traces: number;
}

const page = '<!doctype html><script>onerror = (message) => fetch("/done", { method: "POST", body: JSON.stringify({ error: message }) });</script><script type="module" src="/page.js"></script>'; // prettier-ignore

const expected = plainTraining();

for (const bundler of ['vite', 'rollup', 'rolldown', 'esbuild', 'webpack', 'rspack']) {
  test(`${bundler} builds a page that trains`, { timeout: 300_000 }, async (context) => {
    node(installed.folder, 'build.mjs', bundler);
    const script = readFileSync(join(installed.folder, `pages/${bundler}.js`), 'utf8');
    assert.match(script, /use graph converted/);
    const browser = findBrowser();
    if (browser === undefined)
      return context.skip('there is no browser here; KAON_BROWSER names one');
    const files: Readonly<Record<string, ServedFile>> = {
      '/': { type: 'text/html', body: page },
      '/page.js': { type: 'text/javascript', body: script },
    };
    const answer = await answerOfPage<Answer>(browser, '/', (path) => files[path]);
    assert.equal(answer.error, undefined);
    // Some errors are above 1 at first, and the step for steep gradients is taken both ways.
    const pairs = [...answer.losses, ...answer.w].map((each, k) => [each, [...expected.losses, ...expected.w][k]]); // prettier-ignore
    for (const [found, right] of pairs) assert.ok(Math.abs(found - right) < 1e-4, `${found}, not ${right}`); // prettier-ignore
    assert.equal(answer.traces, 1);
  });
}
