import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { before, test } from 'node:test';
import * as kn from '../../src/index.js';
import { type Installed, installPackage, node, read, write } from '../support/package.js';
import { checkout } from '../support/sources.js';

let installed: Installed;
before(() => {
  installed = installPackage('repository');
});

const scripts = (): readonly string[] =>
  installed.files.filter((file) => /^dist\/kaon\/.*\.js$/.test(file));

/** Programs for Node alone: the command, and hooks of its loader. */
const forNode = new Set(['dist/kaon/cli.js', 'dist/kaon/register.js']);

/** The scripts that the other entry points load, at once or later. */
function portableScripts(): readonly string[] {
  const { exports } = JSON.parse(read(installed, 'package.json')) as {
    exports: Readonly<Record<string, { readonly default: string }>>;
  };
  const queue = Object.values(exports).map((entry) => entry.default.slice(2)).filter((file) => !forNode.has(file)); // prettier-ignore
  const found = new Set(queue);
  for (const file of queue) {
    for (const [, path] of read(installed, file).matchAll(
      /(?:from|import|import\()\s*"(\.[^"]*)"/g,
    )) {
      const target = posix.join(dirname(file), path);
      if (found.has(target)) continue;
      found.add(target);
      queue.push(target);
    }
  }
  return [...found];
}

/** Files with code of their own: an entry point may only hand on what is in others. */
const mapped = (): readonly string[] =>
  scripts().filter((file) => installed.files.includes(`${file}.map`));

test('the package has what its entry points need, and nothing else', () => {
  const { exports } = JSON.parse(read(installed, 'package.json')) as {
    exports: Readonly<Record<string, Readonly<Record<'types' | 'require' | 'default', string>>>>;
  };
  for (const [entry, targets] of Object.entries(exports)) {
    for (const target of Object.values(targets)) {
      assert.ok(installed.files.includes(target.slice(2)), `${entry}: ${target}`);
    }
  }
  const foreign = installed.files.filter(
    (file) =>
      !/^(package\.json|README\.md|LICENSE|THIRD-PARTY\.md|dist\/kaon\/(.*\.js(\.map)?|[a-z]*\.cjs)|dist\/kaon\/types\/.*\.d\.ts)$/.test(
        file,
      ),
  );
  assert.deepEqual(foreign, []);
  for (const file of mapped()) {
    const { sources, sourcesContent } = JSON.parse(read(installed, `${file}.map`)) as {
      sources: string[];
      sourcesContent: (string | null)[];
    };
    assert.ok(sources.length > 0 && sourcesContent.every((text) => text !== null), file);
    assert.ok(
      sources.every((source) =>
        /^(\.\.\/)+(src\/.*\.ts|node_modules\/fflate\/.*\.js)$|rolldown/.test(source),
      ),
      file,
    );
  }
});

test('what operators declare for tests alone is not shipped', () => {
  for (const file of scripts()) {
    assert.doesNotMatch(read(installed, file), /\b(samples|cases): \[[^\]]/, file);
  }
});

test('the entry points share one copy of everything', () => {
  const paths = mapped().flatMap((file) =>
    (JSON.parse(read(installed, `${file}.map`)) as { sources: string[] }).sources.map((source) =>
      source.replace(/^(\.\.\/)+/, ''),
    ),
  );
  const twice = paths.filter((path, i) => path.endsWith('.ts') && paths.indexOf(path) !== i);
  assert.deepEqual(twice, []);
  assert.ok(paths.length > 300);
});

/** Trains a little, and makes mistakes: prints what came of it as JSON. */
const program = `import * as kn from 'kaon';
import lint from 'kaon/lint';

kn.random.seed(4);
const net = new kn.nn.Dense(1).initialize();
net.hybridize();
const x = kn.array([[1, 2], [3, 4], [5, 7]]);
const y = kn.array([[5], [11], [19]]);
net.call(x);
const optimizer = new kn.optim.SGD(net.parameters(), { learningRate: 0.02 });
let loss = 0;
for (let i = 0; i < 400; i++) {
  const value = kn.autograd.record(() => kn.nn.loss.mse(net.call(x), y));
  value.backward();
  optimizer.step();
  loss = value.item();
}
const sources = [];
const attempt = (run) => {
  try { run(); } catch (error) { sources.push(error.source); }
};
attempt(() => kn.add(kn.ones([2]), kn.ones([3]))); // mistake
const graph = kn.hybridize((a) => kn.matmul(a, kn.ones([4, 2]))); // mistake
attempt(() => graph(kn.ones([2, 3])));
attempt(() => new kn.nn.Dense(3).call(x)); // mistake
const isClass = (value) => typeof value === 'function' && String(value).startsWith('class');
const classes = (space) => Object.entries(space).filter(([, value]) => isClass(value))
  .map(([name, { name: own }]) => [name, own]);
console.log(JSON.stringify({
  loss, sources, rules: Object.keys(lint.rules),
  classes: [kn, kn.nn, kn.optim, kn.data].map(classes),
}));
`;

test('an installed package trains, and says where the mistakes of its user are', () => {
  write(installed, 'program.mjs', program);
  for (const flags of [[], ['--enable-source-maps']]) {
    const seen = JSON.parse(node(installed.folder, ...flags, 'program.mjs')) as {
      loss: number;
      sources: (string | undefined)[];
      rules: string[];
      classes: [string, string][][];
    };
    assert.ok(seen.loss < 0.05, `the loss is ${seen.loss}`);
    assert.deepEqual(
      seen.sources.map((source) => /program\.mjs:\d+/.exec(source ?? 'nowhere')?.[0]),
      program.split('\n').flatMap((line, i) => {
        return line.endsWith('// mistake') ? [`program.mjs:${i + 1}`] : [];
      }),
    );
    assert.deepEqual(seen.rules, ['no-array-truthiness']);
    // Errors and blocks are called by the names of their classes.
    const classes = [kn, kn.nn, kn.optim, kn.data].map((space) =>
      Object.entries(space)
        .filter(([, value]) => typeof value === 'function' && String(value).startsWith('class'))
        .map(([name]) => [name, name]),
    );
    assert.deepEqual(seen.classes, classes);
    assert.ok(classes.flat().length > 40);
  }
});

/** Loads the bundle where there is nothing of Node: with the globals that browsers have, too, only. */
const bare = `import { readFileSync } from 'node:fs';
import { createContext, SourceTextModule } from 'node:vm';

const web = { WebAssembly, URL, TextEncoder, TextDecoder, performance };
const context = createContext({ ...web, print: console.log });
const modules = new Map();
const load = (url) => {
  const known = modules.get(url.href);
  if (known !== undefined) return known;
  const module = new SourceTextModule(readFileSync(url, 'utf8'), {
    context, identifier: url.href, initializeImportMeta: (meta) => { meta.url = url.href; },
  });
  modules.set(url.href, module);
  return module;
};
const kaon = new URL('./node_modules/kaon/dist/kaon/index.js', import.meta.url);
await load(kaon).link((name, from) => load(new URL(name, from.identifier)));
await load(kaon).evaluate();
const kn = load(kaon).namespace;
context.print(JSON.stringify(kn.hybridize((x) => x.mul(2).add(1))(kn.array([1, 2, 3])).tolist()));
`;

test('the package loads where there is no Node', () => {
  assert.ok(portableScripts().length > 10);
  for (const file of portableScripts()) {
    // What ONNX needs is loaded by kaon/onnx only, where it is installed.
    if (file.endsWith('/protobuf.js')) continue;
    assert.doesNotMatch(read(installed, file), /^(?:import|export)\b.*from "(?!\.{1,2}\/)/m, file);
  }
  write(installed, 'bare.mjs', bare);
  const printed = node(installed.folder, '--experimental-vm-modules', '--no-warnings', 'bare.mjs');
  assert.equal(printed.trim(), '[3,5,7]');
});

test('the published types are whole, under both ways of finding modules', () => {
  write(
    installed,
    'typed.ts',
    `import * as kn from 'kaon';
import lint from 'kaon/lint';
export const sum: kn.NDArray = kn.add(kn.array([1, 2]), 1).mul(2);
export const loss: (x: kn.NDArray) => kn.NDArray = kn.staticGraph((x: kn.NDArray) => x.sum());
export const rules: object = lint.rules;
// @ts-expect-error -- a number is no name of a dtype
kn.ones([2], { dtype: 5 });
`,
  );
  write(
    installed,
    'typed.cts',
    `import { ones, type NDArray } from 'kaon';
import { toOnnx, type ToOnnxOptions } from 'kaon/onnx';
export const options: ToOnnxOptions = {};
export const [one, write]: [NDArray, typeof toOnnx] = [ones([1]), toOnnx];
// @ts-expect-error -- a number is no graph
toOnnx(5);
`,
  );
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
  assert.ok(existsSync(tsc));
  for (const settings of [
    ['--module', 'NodeNext'],
    ['--module', 'ESNext', '--moduleResolution', 'Bundler'],
  ]) {
    const flags = [
      '--noEmit',
      '--strict',
      '--target',
      'ES2022',
      '--lib',
      'ES2023,DOM',
      '--types',
      '',
    ];
    node(installed.folder, tsc, '--ignoreConfig', ...flags, ...settings, 'typed.ts', 'typed.cts'); // prettier-ignore
  }
});

test('bundlers for browsers find all that the entry points import', () => {
  const text = portableScripts().map((file) => read(installed, file)).join('\n'); // prettier-ignore
  assert.doesNotMatch(text, /(?:from|import|import\()\s*["']node:/);
  write(installed, 'whole.mjs', `import * as kn from 'kaon';\nconsole.log(String(kn.ones([2])), Object.keys(kn).length);\n`); // prettier-ignore
  const rolldown = join(checkout, 'node_modules/rolldown/bin/cli.mjs');
  const said = node(installed.folder, rolldown, 'whole.mjs', '--dir', 'whole', '--platform', 'browser'); // prettier-ignore
  assert.doesNotMatch(said, /UNRESOLVED|external/i);
  assert.match(node(installed.folder, 'whole/whole.js'), /array\(\[1\., 1\.\]\) \d{3}/);
});

test('bundlers leave out what a program does not use', () => {
  write(
    installed,
    'small.mjs',
    `import { add, ones } from 'kaon';\nconsole.log(add(ones([2]), 1));\n`,
  );
  const rolldown = join(checkout, 'node_modules/rolldown/bin/cli.mjs');
  const said = node(installed.folder, rolldown, 'small.mjs', '--dir', 'small', '--platform', 'browser'); // prettier-ignore
  assert.doesNotMatch(said, /UNRESOLVED|external/i);
  const chunk = (name: string): string =>
    readFileSync(join(installed.folder, 'small', name), 'utf8');
  const first = chunk('small.js');
  assert.match(first, /name: "add"/);
  assert.ok(!first.includes('createShaderModule'), 'the code for WebGPU is in the first chunk');
  const text = readdirSync(join(installed.folder, 'small')).map(chunk).join('\n');
  for (const unused of ['class LSTM', 'class Adam', 'class BatchNorm']) {
    assert.ok(!text.includes(unused), `${unused} is in the bundle`);
  }
  assert.match(node(installed.folder, 'small/small.js'), /2\., 2\./);
});
