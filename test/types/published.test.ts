import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Installed, installPackage, node, read, write } from '../support/package.js';
import { checkout } from '../support/sources.js';
import { LanguageServer, positionOf } from './language-server.js';

/* What users' editors and compilers see of the package. */

const program = `import * as kn from 'kaon';
import { fromOnnx, toOnnx } from 'kaon/onnx';
import { toC, toModule } from 'kaon/artifact';
import lint from 'kaon/lint';
import * as plugin from 'kaon/plugin';
import { transform, type SourceMap } from 'kaon/source';

const x = kn.random.normal([4, 3]);
const net = new kn.nn.Sequential(new kn.nn.Dense(8, { activation: 'relu' }), new kn.nn.Dense(1));
net.initialize();
net.hybridize();
const optimizer = new kn.optim.Adam(net.parameters(), { learningRate: 0.01 });
const loss = kn.autograd.record(() => kn.nn.loss.mse(net.call(x), kn.zeros([4, 1])));
loss.backward();
optimizer.step();
const last: number = loss.item();
const rows = x.reshape([2, 6]);
const product = kn.matmul(rows, kn.ones([6, 2]));
const joined: kn.NDArray = kn.concat([product, [[2, 2]]]);
const graph: kn.StaticGraph = net.graphFor(x);
const bytes: Uint8Array = toOnnx(graph);
const [states, sum] = kn.foreach((row, s) => [row, s.add(row)], x, kn.zeros([3]));
class Scaled extends kn.nn.HybridBlock {
  readonly scale = new kn.nn.Parameter({ shape: [1] });
  forward(given: kn.NDArray): kn.NDArray {
    return given.mul(this.scale.value);
  }
}
const map: SourceMap | undefined = transform('', { filename: 'a.ts' })?.map;
export const all = [last, joined, bytes, states, sum, new Scaled(), lint, fromOnnx, toC, toModule, plugin.vite(), map];
`;

let installed: Installed;
let server: LanguageServer;
before(async () => {
  installed = installPackage('types');
  const settings = { strict: true, module: 'NodeNext', target: 'ES2022', lib: ['ES2023', 'DOM'], types: [] }; // prettier-ignore
  write(installed, 'tsconfig.json', JSON.stringify({ compilerOptions: settings, files: ['user.ts'] })); // prettier-ignore
  write(installed, 'user.ts', program);
  server = await LanguageServer.start(installed.folder);
});
after(() => server.stop());

const compile = (file: string): string =>
  node(
    installed.folder,
    join(checkout, 'node_modules/typescript/bin/tsc'),
    ...'--ignoreConfig --noEmit --strict --target ES2022 --lib ES2023,DOM --module NodeNext'.split(
      ' ',
    ),
    '--types',
    '',
    file,
  );

/** The declarations that the package ships, by their files. */
const declarations = (): readonly (readonly [file: string, text: string])[] =>
  installed.files
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => [file, read(installed, file)]);

test('a program of a user compiles against the declarations, which are checked themselves', () => {
  compile('user.ts');
  write(installed, 'wrong.ts', `import * as kn from 'kaon';\nkn.ones([2]).reshape('2');\n`);
  assert.throws(() => compile('wrong.ts'), /TS2345/);
});

test('the declarations hold nothing internal', () => {
  const texts = declarations();
  assert.ok(texts.length > 50, `${texts.length} files`);
  const found: string[] = [];
  for (const [file, text] of texts) {
    if (text.includes('@internal')) found.push(`${file}: @internal`);
    for (const [, target] of text.matchAll(/from '(\.[^']*)'/g)) {
      const path = join(dirname(file), target.replace(/\.js$/, '.d.ts'));
      if (!installed.files.includes(path)) found.push(`${file}: ${target} is not there`);
    }
    if (/\/types\/(loop|codegen|graph|cli)\//.test(file)) found.push(file);
  }
  assert.deepEqual(found, []);
  const array = texts.find(([file]) => file.endsWith('front/core/ndarray.d.ts'))![1];
  for (const name of ['elements', 'origin', 'session', 'gradient', 'storage', 'held', 'pin', 'reader', 'isConstant', 'isShared', 'computed', 'type:']) {
    assert.doesNotMatch(array, new RegExp(`^ +(get |readonly )*${name}\\b`, 'm'), name);
  } // prettier-ignore
});

test('users do not construct what functions make', () => {
  for (const name of ['NDArray', 'StaticGraph']) {
    write(installed, 'made.ts', `import * as kn from 'kaon';\nnew kn.${name}();\n`);
    assert.throws(() => compile('made.ts'), /TS2674/, name);
  }
});

test('resting on a method or a function shows its documentation and a short signature', async () => {
  const uri = server.open('user.ts', program);
  const reshape = await server.hover(uri, positionOf(program, 'x.reshape', 'x.re'.length));
  assert.match(
    reshape,
    /\breshape\(shape: kn\.ShapeArgument<kn\.NDArray>\): kn\.NDArray<"float32">/,
  );
  const source = readFileSync(join(checkout, 'src/ops/movement/reshape.ts'), 'utf8');
  const [, said] = /\/\*\*\s*\n?([^\n]*)(?:(?!\*\/)[\s\S])*\*\/\nexport const reshape/.exec(
    source,
  )!;
  assert.ok(said.length > 20 && reshape.includes(said.replace(/^[\s*]+/, '').trim()), reshape);
  const matmul = await server.hover(uri, positionOf(program, 'kn.matmul', 'kn.mat'.length));
  assert.match(matmul, /matrices|matrix|product/i);
  assert.match(matmul, /x: .*, y: .*NDArray/s);
  for (const shown of [reshape, matmul]) assert.ok(signatureLines(shown) <= 4, shown);
});

/** How many lines of code an editor shows. */
const signatureLines = (shown: string): number =>
  /```\w*\n([\s\S]*?)```/.exec(shown)![1].trim().split('\n').length;

test('a call shows its parameters by name', async () => {
  const text = `import * as kn from 'kaon';\nconst x = kn.ones([2, 3]);\nx.sum(0, );\nkn.softmax(x, );\n`;
  const uri = server.open('call.ts', text);
  const label = async (piece: string): Promise<string> => {
    const { signatures } = await server.signatureHelp(uri, positionOf(text, piece, piece.length));
    assert.equal(signatures.length, 1);
    // The compiler shows the documentation of functions on the name, and of methods here as well.
    if (piece.startsWith('x.')) assert.ok(signatures[0].documentation !== undefined);
    return signatures[0].label;
  };
  assert.equal(
    await label('x.sum(0, '),
    'sum(axis?: kn.Axes, options?: kn.ReductionOptions): kn.NDArray<"float32">',
  );
  assert.match(await label('kn.softmax(x, '), /^softmax(<.*>)?\(x: .*, axis\?: number\): kn\.NDArray/); // prettier-ignore
});

/** Names that the standard library declares, the DOM's included. */
function standardNames(): ReadonlySet<string> {
  const scope = join(checkout, 'node_modules/@typescript');
  const library = readdirSync(scope)
    .map((each) => join(scope, each, 'lib'))
    .find((each) => existsSync(join(each, 'lib.dom.d.ts')))!;
  const names = readdirSync(library)
    .filter((file) => /^lib\.(dom|es)/.test(file))
    .flatMap((file) => [
      ...readFileSync(join(library, file), 'utf8').matchAll(
        /^\s*(?:declare )?(?:interface|type|class|var|function|namespace) (\w+)/gm,
      ),
    ])
    .map(([, name]) => name);
  return new Set(names);
}

/** The names that a declaration file exports, those of its namespaces with what they are members of. */
function exportedNames(file: string, prefix = ''): readonly string[] {
  const text = read(installed, file).replace(/\/\*[\s\S]*?\*\//g, '');
  const at = (target: string): string => join(dirname(file), target.replace(/\.js$/, '.d.ts'));
  const names = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|let) (\w+)/gm),
  ].map(([, name]) => name); // prettier-ignore
  for (const [, list] of text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)) {
    names.push(...list.split(',').map((each) => each.trim().split(/\s+/).at(-1)!).filter(Boolean)); // prettier-ignore
  }
  const inner = [...text.matchAll(/^export \* (?:as (\w+) )?from '([^']*)'/gm)].flatMap(
    ([, name, target]) =>
      exportedNames(at(target), name === undefined ? prefix : `${prefix}${name}.`),
  );
  return [...new Set([...names.map((name) => `${prefix}${name}`), ...inner])];
}

const entries = [
  'index',
  'onnx',
  'onnxruntime',
  'artifact/index',
  'lint/index',
  'scale',
  'stablehlo',
] as const;

test('no exported type is called like one of the standard library', () => {
  const standard = standardNames();
  for (const name of ['Map', 'Node', 'Text', 'File', 'Range']) assert.ok(standard.has(name), name);
  const names = entries.flatMap((entry) => exportedNames(`dist/kaon/types/${entry}.d.ts`));
  assert.ok(
    names.includes('NDArray') && names.includes('nn.Dense') && names.includes('LintPlugin'),
  );
  // Types are written in capitals; operators are functions, which have the names of NumPy's.
  const types = names.filter((name) => /^[A-Z]/.test(name.split('.').at(-1)!));
  assert.deepEqual(
    types.filter((name) => standard.has(name.split('.').at(-1)!)),
    [],
  );
});

test('the functions and classes that users see are the ones that the list has', () => {
  const path = 'test/types/public-names.txt';
  const listed = readFileSync(join(checkout, path), 'utf8').trim().split('\n');
  const shown = exportedNames('dist/kaon/types/index.d.ts').toSorted();
  const unlisted = shown.filter((name) => !listed.includes(name));
  assert.ok(unlisted.length === 0, `${path} lacks ${unlisted.join(', ')}, which users see now`);
  const gone = listed.filter((name) => !shown.includes(name));
  assert.ok(gone.length === 0, `${path} has ${gone.join(', ')}, which users no longer see`);
  assert.deepEqual(listed, shown); // sorted, and each once
});
