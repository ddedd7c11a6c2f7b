import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { command } from '../../src/cli/command.js';

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'kaon-transform-'));
  mkdirSync(join(folder, 'out'));
  mkdirSync(join(folder, 'src'));
});
after(() => rmSync(folder, { recursive: true }));

const file = (name: string): string => join(folder, name);

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

async function kaon(...args: readonly string[]): Promise<Ran> {
  let [out, error] = ['', ''];
  const code = await command(args, {
    out: (text) => void (out += text),
    error: (text) => void (error += text),
    read: () => Promise.resolve(new Uint8Array()),
  });
  return { code, out, error };
}

const typed = `interface Unused {
  readonly a: number;
}
export function halvings(x: number, limit: number): number {
  'use graph';
  let n: number = 0;
  while (x > limit) {
    x = x / 2;
    n++;
  }
  return n;
}
export const sign = (x: number): number => {
  'use graph';
  return x > 0 ? 1 : -1;
};
`;

const written = (name: string): string => readFileSync(file(name), 'utf8');

test('transform writes the converted file, and a map that leads to the original', async () => {
  writeFileSync(file('src/a b.ts'), typed);
  const { code, out, error } = await kaon('transform', file('src/a b.ts'), '-o', file('out/a.ts'));
  assert.deepEqual([code, error], [0, '']);
  assert.equal(out, `${file('out/a.ts')}\n${file('out/a.ts.map')}\n`);
  assert.match(written('out/a.ts'), /\/\/# sourceMappingURL=a\.ts\.map\n$/);
  assert.match(written('out/a.ts'), /readonly a: number/);
  const map = JSON.parse(written('out/a.ts.map')) as SourceMapPayload;
  assert.deepEqual(map.sources, ['../src/a%20b.ts']);
  assert.deepEqual(map.sourcesContent, [typed]);
});

test('the map of compiled code leads to what that was compiled from', async () => {
  const { code: compiled, map } = transformSync(typed, { loader: 'ts', sourcemap: true, sourcefile: '../src/c.ts' }); // prettier-ignore
  writeFileSync(file('out/c.js'), `${compiled}//# sourceMappingURL=c.js.map\n`);
  writeFileSync(file('out/c.js.map'), map);
  writeFileSync(file('src/c.ts'), typed);
  const { code, error } = await kaon('transform', file('out/c.js'), '-o', file('c.mjs'));
  assert.deepEqual([code, error], [0, '']);
  const payload = JSON.parse(written('c.mjs.map')) as SourceMapPayload;
  assert.deepEqual(payload.sources, ['src/c.ts']);
  const lines = written('c.mjs').split('\n');
  const line = lines.findIndex((text) => text.startsWith('  return n'));
  const entry = new SourceMap(payload).findEntry(line, 2);
  assert.ok('originalLine' in entry);
  assert.equal(typed.split('\n')[entry.originalLine], '  return n;');
  const module = (await import(pathToFileURL(runnable(lines.join('\n'))).href)) as {
    halvings(x: number, limit: number): number;
    sign(x: number): number;
  };
  assert.equal(module.halvings(12, 1), 4);
  assert.equal(module.sign(-3), -1);
});

/** A file with some code that finds the runtime of this checkout. */
function runnable(code: string): string {
  const runtime = new URL('../../src/front/converted/index.js', import.meta.url).href;
  const path = file('runnable.mjs');
  writeFileSync(path, code.replace('"kaon/converted"', JSON.stringify(runtime)));
  return path;
}

test('transform --explain tells of every branch and loop', async () => {
  writeFileSync(file('explained.ts'), typed);
  const { code, out, error } = await kaon('transform', file('explained.ts'), '--explain');
  assert.deepEqual([code, error], [0, '']);
  assert.equal(
    out,
    `halvings at 4:8: 1 branch or loop
  while at 7:3
    reads x, limit, n
    carries x, n
    returns n
    keeps x local
sign at 13:21: 1 branch or loop
  ?: at 15:10
    reads x
`.replace('    keeps x local\n', ''),
  );
  assert.ok(!existsSync(file('explained.ts.map')));
});

const refused = `export function f(x, o) {
  'use graph';
  for (const key in o) if (x) delete o[key];
  try { x = x + 1; } catch { x = 0; }
  const later = [];
  for (let i = 0; i < 3; i++) later.push(() => i);
  return x;
}
export async function g(x) {
  'use graph';
  return x ? 1 : await x;
}
export function* h(x) { 'use graph'; if (x) yield 1; }
export function k(x) { 'use graph'; try { if (x) return 1; } catch {} }
`;

test('transform --check lists what cannot become a graph', async () => {
  writeFileSync(file('refused.js'), refused);
  const { code, out, error } = await kaon('transform', file('refused.js'), '--check');
  assert.deepEqual([code, error], [1, '']);
  const places = out.trimEnd().split('\n').map((line) => /:(\d+:\d+): (.*) cannot become/.exec(line)!.slice(1, 3).join(' ')); // prettier-ignore
  assert.deepEqual(places, [
    '3:3 a loop over the keys of an object',
    '3:31 delete',
    '4:3 try',
    '6:3 a loop whose variables closures keep',
    '11:18 await',
    '13:45 yield',
    '14:37 try',
    '14:43 a jump out of try',
  ]);
  writeFileSync(file('fine.ts'), typed);
  const fine = await kaon('transform', file('fine.ts'), '--check', '-o', file('fine.out.ts'));
  assert.deepEqual([fine.code, fine.error], [0, '']);
});

test('what cannot be transformed is refused', async () => {
  const failing = async (text: string, ...rest: readonly string[]): Promise<Ran> => {
    writeFileSync(file('failing.ts'), text);
    return kaon('transform', file('failing.ts'), '-o', file('failing.out.ts'), ...rest);
  };
  const syntax = await failing("function f() {\n  'use graph';\n  if ( }\n");
  assert.equal(syntax.code, 3);
  assert.match(syntax.error, /failing\.ts cannot be parsed.*failing\.ts:3:8/s);
  for (const [text, line] of [
    ["'use graph';\nexport const f = (x) => x;", 1],
    ["function f(x) {\n  x++;\n  'use graph';\n  return x;\n}", 3],
    ["function f(x) {\n  'use graph';\n  if (x) {\n    'use graph';\n  }\n}", 4],
  ] as const) {
    const { code, error } = await failing(text);
    assert.equal(code, 3);
    assert.match(error, new RegExp(`not at the start of a function's body.*failing\\.ts:${line}:`, 's')); // prettier-ignore
  }
  assert.equal((await failing(typed)).code, 0);
  const again = await failing(written('failing.out.ts'));
  assert.equal(again.code, 3);
  assert.match(again.error, /is converted already/);
  const none = await failing('export const x = 1;');
  assert.equal(none.code, 3);
  assert.match(none.error, /nothing in .*failing\.ts is to be converted/);
  const missing = await kaon('transform', file('missing.ts'), '--check');
  assert.equal(missing.code, 3);
  assert.match(missing.error, /missing\.ts cannot be read/);
});

test('a wrong command line is refused before anything is read', async () => {
  writeFileSync(file('input.ts'), typed);
  const wrong = async (...args: readonly string[]): Promise<string> => {
    const { code, error } = await kaon('transform', ...args);
    assert.equal(code, 2);
    return error;
  };
  assert.match(await wrong(file('input.ts'), '-o', `${folder}/./input.ts`), /overwrite the input/);
  assert.match(await wrong(file('input.ts.map'), '-o', file('input.ts')), /overwrite the input/);
  assert.match(await wrong(file('input.ts')), /say what to do: -o OUT, --explain or --check/);
  assert.match(await wrong('-o', file('x.ts')), /give one file/);
  assert.match(await wrong(file('input.ts'), '--train'), /no option --train/);
  assert.equal(written('input.ts'), typed);
});

test('transform says what it takes', async () => {
  const { code, out } = await kaon('transform', '--help');
  assert.equal(code, 0);
  assert.match(out, /^kaon transform FILE \[-o FILE\]/);
});
