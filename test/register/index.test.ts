import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { transformSync } from 'esbuild';
import { type Installed, installPackage, node, write } from '../support/package.js';

/* Programs that Node converts while it loads them, with what this Node can do. */

const features = process.features as {
  /** `strip` where Node runs TypeScript without its types. */
  readonly typescript?: string | false;
};
const { registerHooks: hasRegisterHooks } = (await import('node:module')) as {
  readonly registerHooks?: unknown;
};

let installed: Installed;
before(() => {
  installed = installPackage('register');
});

const run = (...args: readonly string[]): unknown =>
  JSON.parse(node(installed.folder, '--import', 'kaon/register', ...args));

/** Statements with a function that halves while its array is above 1, and one that no graph serves. */
const functions = (typed: boolean): string => {
  const array = typed ? ': kn.NDArray' : '';
  const interfaceText = typed ? 'interface Unused {\n  readonly a: number;\n}\n' : '';
  return `${interfaceText}function halvings(x${array})${array} {
  'use graph';
  let n = 0;
  while (x.greater(1)) {
    x = x.div(2);
    n++;
  }
  return x.mul(0).add(n);
}
function wrong(x${array})${array} {
  'use graph';
  let name = 'a';
  if (x.greater(1)) name = 'b'; // the place
  return x.mul(name === 'b' ? 2 : 1);
}
`;
};

const report = (typed: boolean): string => `function report()${typed ? ': unknown[]' : ''} {
  const f = kn.hybridize(halvings);
  try { kn.hybridize(wrong)(kn.array(3)); }
  catch (error) { return [f(kn.array(12)).item(), f(kn.array(1)).item(), ${typed ? '(error as kn.TraceError)' : 'error'}.source]; }
  return [];
}
`;

/** The line of the test that no graph can decide. */
const lineIn = (code: string): number =>
  code.split('\n').findIndex((text) => text.includes('// the place')) + 1;

/** 12 is halved four times until it is not above 1; 1 is not halved. */
function check(answers: unknown, file: string, code: string): void {
  const [steps, none, source] = answers as [number, number, string];
  assert.deepEqual([steps, none], [4, 0]);
  assert.match(source, new RegExp(`${file.replace('.', '\\.')}:${lineIn(code)}:3$`));
}

const imports = "import * as kn from 'kaon';\n";

test('a module and one that it imports', () => {
  const library = `${imports}${functions(false)}${report(false)}export { report };\n`;
  const main = `import { report } from './library.mjs';\n${library.replace('export { report };', '')}`
    .replace('function report()', 'function own()'); // prettier-ignore
  write(installed, 'library.mjs', library);
  write(installed, 'main.js', `${main}console.log(JSON.stringify([own(), report()]));\n`);
  const [own, other] = run('main.js') as unknown[];
  check(own, 'main.js', main);
  check(other, 'library.mjs', library);
  // Without source maps the values are the same.
  const values = (run('main.js') as unknown[][]).map((each) => each.slice(0, 2));
  assert.deepEqual(values, [[4, 0], [4, 0]]); // prettier-ignore
});

test('stacks have the lines and the columns of the original', () => {
  const code = `function f(x) {
  'use graph';
  if (x) { let y = 1; while (y) { throw new Error('thrown'); } }
  return x;
}
try { f(1); } catch (error) { console.log(JSON.stringify(error.stack.split('\\n')[1])); }
`;
  write(installed, 'throws.mjs', code);
  assert.match(String(run('throws.mjs')), /throws\.mjs:3:41\)?$/);
});

test('code that was compiled before leads to its source', () => {
  const typed = `${imports}${functions(true)}${report(true)}console.log(JSON.stringify(report()));\n`;
  for (const sourcemap of ['inline', 'external'] as const) {
    const { code, map } = transformSync(typed, { loader: 'ts', sourcemap, sourcefile: '../src/compiled.ts' }); // prettier-ignore
    mkdirSync(join(installed.folder, 'build'), { recursive: true });
    write(installed, 'src/compiled.ts', typed);
    const isInline = sourcemap === 'inline';
    write(installed, 'build/compiled.js', isInline ? code : `${code}//# sourceMappingURL=compiled.js.map\n`); // prettier-ignore
    if (!isInline) write(installed, 'build/compiled.js.map', map);
    check(run('build/compiled.js'), 'src/compiled.ts', typed);
  }
});

const typeScript = features.typescript === undefined ? 'this Node runs no TypeScript' : false;

test('TypeScript, where Node removes types', { skip: typeScript }, () => {
  const code = `${imports}${functions(true)}${report(true)}console.log(JSON.stringify(report()));\n`;
  for (const name of ['typed.ts', 'typed.mts']) {
    write(installed, name, code);
    check(run(name), name, code);
  }
});

const synchronous = hasRegisterHooks === undefined ? 'require is not hooked by this Node' : false;

const common = `'use strict';\nconst kn = require('kaon');\n${functions(false)}${report(false)}`;

test('a module of CommonJS as the program', () => {
  const code = `${common}console.log(JSON.stringify(report()));\n`;
  write(installed, 'main.cjs', code);
  if (hasRegisterHooks !== undefined) {
    check(run('main.cjs'), 'main.cjs', code);
  } else {
    assert.throws(() => run('main.cjs'), /CommonJS module.*Node 22\.15.*write the file as an ES/s);
  }
});

test('Node 20 says that it does not convert what is required', (context) => {
  if (hasRegisterHooks !== undefined) return context.skip('require is hooked by this Node');
  write(installed, 'inner.cjs', "module.exports = (x) => { 'use graph'; return x ? 1 : 2; };\n");
  write(installed, 'outer.cjs', "require('./inner.cjs');\n");
  write(installed, 'alone.cjs', "require('node:fs');\n");
  const warnings = (file: string): string => {
    const flags = ['--import', 'kaon/register', file];
    const { status, stderr } = spawnSync(process.execPath, flags, {
      cwd: installed.folder,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return stderr;
  };
  assert.match(
    warnings('outer.cjs'),
    /does not convert what file:.*outer\.cjs requires.*Node 22\.15/,
  );
  assert.equal(warnings('alone.cjs'), '');
});

test('a module of CommonJS that is required', { skip: synchronous }, () => {
  const code = `${common}module.exports = report;\n`;
  write(installed, 'required.cjs', code);
  write(installed, 'requires.cjs', "console.log(JSON.stringify(require('./required.cjs')()));\n");
  check(run('requires.cjs'), 'required.cjs', code);
});

test('files without a package type are what their code is', { skip: synchronous }, () => {
  write(installed, 'loose/package.json', '{}');
  const body = `${functions(false)}${report(false)}console.log(JSON.stringify(report()));\n`;
  for (const [name, start] of [
    ['module.js', imports],
    ['common.js', "const kn = require('kaon');\n"],
  ]) {
    write(installed, `loose/${name}`, start + body);
    check(run('--no-warnings', `loose/${name}`), name, start + body);
  }
});

test('a missing parser is named, and only files with the directive need it', () => {
  write(installed, 'plain.mjs', 'console.log(JSON.stringify("no directive"));\n');
  write(installed, 'asks.mjs', "function f(x) { 'use graph'; return x ? 1 : 2; }\nf();\n");
  // The checkout around has the parser: one that cannot be imported hides it.
  const hidden = 'node_modules/@babel/parser';
  mkdirSync(join(installed.folder, hidden), { recursive: true });
  write(installed, `${hidden}/package.json`, '{ "name": "@babel/parser", "exports": {} }');
  assert.equal(run('plain.mjs'), 'no directive');
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', 'kaon/register', 'asks.mjs'],
    {
      cwd: installed.folder,
      encoding: 'utf8',
    },
  );
  assert.notEqual(status, 0);
  assert.match(stderr, /@babel\/parser is not installed.*npm install --save-dev @babel\/parser/s);
  rmSync(join(installed.folder, hidden), { recursive: true });
  assert.equal(node(installed.folder, '--import', 'kaon/register', 'asks.mjs'), '');
});
