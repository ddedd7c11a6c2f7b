import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { type Installed, installPackage, node, write } from '../support/package.js';

/* A project in TypeScript, built by each bundler and run. */

const main = `import * as kn from 'kaon';
import { halvings } from './halvings.ts';
import { plain } from './plain.ts';

interface Answer {
  readonly steps: number;
  readonly place: string | undefined;
}

// Types that a compiler removes with their lines.
type Tested = kn.NDArray;

function wrong(x: Tested): Tested {
  'use graph';
  let name: string = 'a';
  if (x.greater(1)) name = 'b';
  return x.mul(name === 'b' ? 2 : 1);
}

const place = (): string | undefined => {
  try {
    kn.hybridize(wrong)(kn.array(3));
  } catch (error) {
    if (error instanceof kn.TraceError) return error.source;
  }
  return undefined;
};
const f = kn.hybridize(halvings);
const answers: Answer[] = [12, 1].map((x) => ({ steps: f(kn.array(x)).item() as number, place: place() }));
console.log(JSON.stringify([answers, plain(2)]));
`;

const halvings = `import type { NDArray } from 'kaon';

export function halvings(x: NDArray): NDArray {
  'use graph';
  let n: number = 0;
  while (x.greater(1) as unknown) {
    x = x.div(2);
    n++;
  }
  return x.mul(0).add(n);
}
`;

const plain = `export const plain = (x: number): string => (x ? \`use \${x}\` : 'none');
`;

/** What each bundler is told: TypeScript is compiled after the plugin, or before it. */
const build = `import * as kaon from 'kaon/plugin';
import { transformSync } from 'esbuild';
import { writeFileSync } from 'node:fs';

const [, , bundler, order] = process.argv;
const touched = [];
const compile = (code, id, loader = 'ts') => {
  const { code: out, map } = transformSync(code, { loader, sourcemap: true, sourcefile: id, sourcesContent: true });
  return { code: out, map };
};
const typescript = {
  name: 'typescript',
  transform(code, id) {
    if (!id.endsWith('.ts')) return null;
    if (order === 'after' && code.includes('kaon/converted')) touched.push(id);
    return compile(code, id);
  },
};
const plugins = (plugin) => (order === 'before' ? [typescript, plugin] : [plugin, typescript]);
const external = ['kaon', 'kaon/converted'];
const file = \`out/\${bundler}-\${order}.mjs\`;
if (bundler === 'rollup') {
  const { rollup } = await import('rollup');
  const bundle = await rollup({ input: 'main.ts', external, plugins: plugins(kaon.rollup()) });
  await bundle.write({ file, sourcemap: true });
} else if (bundler === 'rolldown') {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ input: 'main.ts', external, plugins: plugins(kaon.rolldown()), tsconfig: false });
  await bundle.write({ file, sourcemap: true });
} else if (bundler === 'vite') {
  const { build } = await import('vite');
  const before = { ...typescript, enforce: 'pre' };
  await build({
    configFile: false, logLevel: 'error',
    plugins: order === 'before' ? [before, kaon.vite()] : [kaon.vite()],
    build: {
      sourcemap: true, minify: true, outDir: 'out', emptyOutDir: false, target: 'es2022',
      lib: { entry: 'main.ts', formats: ['es'], fileName: () => \`\${bundler}-\${order}.mjs\` },
      rolldownOptions: { external },
    },
  });
} else if (bundler === 'esbuild') {
  const { build } = await import('esbuild');
  await build({ entryPoints: ['main.ts'], outfile: file, bundle: true, format: 'esm', external, sourcemap: true, plugins: [kaon.esbuild()] });
} else {
  const make = bundler === 'rspack' ? (await import('@rspack/core')).rspack : (await import('webpack')).default;
  const enforce = order === 'before' ? { enforce: 'pre' } : {};
  await new Promise((resolve, reject) => {
    make({
      mode: 'production', entry: './main.ts', devtool: 'source-map', target: 'node20',
      output: { path: import.meta.dirname + '/out', filename: \`\${bundler}-\${order}.mjs\`, module: true, devtoolModuleFilenameTemplate: '[absolute-resource-path]' },
      experiments: { outputModule: true }, externals: external, externalsType: 'module',
      module: { rules: [{ test: /\\.ts$/, use: './loader.cjs', ...enforce }] },
      plugins: [kaon[bundler]()],
    }, (error, stats) => (error || stats.hasErrors() ? reject(error ?? new Error(stats.toString())) : resolve()));
  });
}
console.log(JSON.stringify(touched));
`;

/** Compiles TypeScript, and leads the map that it is given on, as loaders do. */
const loader = `const { transformSync } = require('esbuild');
module.exports = function (code, given) {
  const inline = given ? '\\n//# sourceMappingURL=data:application/json;base64,' + Buffer.from(JSON.stringify(given)).toString('base64') : '';
  const { code: out, map } = transformSync(code + inline, { loader: 'ts', sourcemap: true, sourcefile: this.resourcePath });
  this.callback(null, out, JSON.parse(map));
};
`;

let installed: Installed;
before(() => {
  installed = installPackage('plugin');
  write(installed, 'main.ts', main);
  write(installed, 'halvings.ts', halvings);
  write(installed, 'plain.ts', plain);
  write(installed, 'build.mjs', build);
  write(installed, 'loader.cjs', loader);
});

/** The place of the test that no graph can decide. */
const line = main.split('\n').findIndex((text) => text.includes('if (x.greater(1))')) + 1;

const orders: readonly (readonly [bundler: string, order: string])[] = [
  ['rollup', 'after'],
  ['rollup', 'before'],
  ['rolldown', 'after'],
  ['rolldown', 'before'],
  ['vite', 'after'],
  ['vite', 'before'],
  ['esbuild', 'after'],
  ['webpack', 'after'],
  ['webpack', 'before'],
  ['rspack', 'after'],
  ['rspack', 'before'],
];

for (const [bundler, order] of orders) {
  test(`${bundler}, types are removed ${order} the plugin converts`, () => {
    const touched = JSON.parse(node(installed.folder, 'build.mjs', bundler, order)) as string[];
    if ((bundler === 'rollup' || bundler === 'rolldown') && order === 'after') {
      assert.deepEqual(touched.map((path) => path.replace(/.*[\\/]/, '')).sort(), [
        'halvings.ts',
        'main.ts',
      ]);
    }
    const file = `out/${bundler}-${order}.mjs`;
    assert.match(readFileSync(join(installed.folder, file), 'utf8'), /kaon\/converted/);
    const [answers, text] = JSON.parse(node(installed.folder, '--enable-source-maps', file)) as [
      { steps: number; place: string }[],
      string,
    ];
    assert.equal(text, 'use 2');
    // 12 is above 1 until it is halved four times.
    assert.deepEqual(answers.map(({ steps }) => steps), [4, 0]); // prettier-ignore
    for (const { place } of answers) {
      assert.match(place, new RegExp(`main\\.ts:${line}:3$`));
    }
  });
}
