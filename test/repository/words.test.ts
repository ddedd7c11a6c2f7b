import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkout, sourceFiles } from '../support/sources.js';

/** First words of comments that describe a thing by a clause instead of naming it. */
const clauses = /^(?:What|Whether|Whom|Whose|Who|How|Those|Where|Which)\b/;

/** Folders whose comments are still to be rewritten. The list may only shrink. */
const unfinished: readonly string[] = [
  'src/artifact',
  'src/artifact/driver',
  'src/codegen/wasm',
  'src/codegen/wasm/encoding',
  'src/codegen/wasm/select',
  'src/front/arrays',
  'src/front/caches',
  'src/front/core',
  'src/front/dispatch',
  'src/front/tracing',
  'src/kernels/cpu/convolution',
  'src/loop/language',
  'src/loop/optimize',
  'src/loop/simplify',
  'src/nn/optim',
  'src/ops/declare',
  'src/ops/dynamic',
  'src/passes/fuse',
  'src/passes/host',
  'src/passes/lower/main',
  'src/passes/lower/nests',
  'src/runtime/compile',
  'src/runtime/dynamic',
  'src/runtime/execution',
  'src/runtime/memory',
  'src/runtime/native',
  'src/runtime/threads',
];

/** Doc comments of a text, without the decoration of their lines. */
function docComments(text: string): readonly string[] {
  return [...text.matchAll(/^[ \t]*\/\*\*([\s\S]*?)\*\//gm)].map(([, body]) =>
    body.replaceAll(/^\s*\*? ?/gm, '').trim(),
  );
}

const clausesIn = (path: string, text: string): readonly string[] =>
  docComments(text)
    .filter((comment) => clauses.test(comment))
    .map((comment) => `${path}: ${comment}`);

test('doc comments begin with a noun or a verb, not with a clause', () => {
  const wrong = sourceFiles('src')
    .filter(({ path }) => !unfinished.includes(dirname(path)))
    .flatMap(({ path, text }) => clausesIn(path, text));
  assert.deepEqual(wrong, []);
});

test('folders that are listed as unfinished are', () => {
  const files = sourceFiles('src');
  const finished = unfinished.filter((folder) =>
    files
      .filter(({ path }) => dirname(path) === folder)
      .every(({ path, text }) => clausesIn(path, text).length === 0),
  );
  assert.deepEqual(finished, [], 'remove these from the list');
});

/** Exported declarations of a file; text of generated code does not count, since it is indented or quoted. */
const declarations =
  /^export (?:(?:declare|abstract|async) )*(?:class|interface|type|function\*?|const|let|enum) ([A-Za-z_$][\w$]*)(?!.* from )/gm;

/** Paths by the exported names that they declare. */
function exportedNames(): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>();
  for (const { path, text } of sourceFiles('src')) {
    if (path.endsWith('onnx_pb.ts')) continue;
    for (const [, name] of text.matchAll(declarations)) {
      const paths = names.get(name) ?? new Set();
      names.set(name, paths.add(path));
    }
  }
  return names;
}

/** Rows of a table in a page: the cells of each, without the header. */
function tableRows(page: string): readonly (readonly string[])[] {
  return [...page.matchAll(/^\|(.+)\|$/gm)]
    .map(([, row]) => row.split('|').map((cell) => cell.trim()))
    .filter(([first], at) => at > 1 && !/^-+$/.test(first));
}

const glossary = readFileSync(join(checkout, 'docs/glossary.md'), 'utf8');
const [termsPage, namesPage] = glossary.split('## Names with two meanings');

test('an exported name stands once, unless the glossary says why not', () => {
  const twice = [...exportedNames()].filter(([, paths]) => paths.size > 1).map(([name]) => name);
  const excused = tableRows(namesPage).map(([name]) => name.replaceAll('`', ''));
  assert.deepEqual(excused.toSorted(), twice.toSorted());
});

test('the glossary is sorted, and its terms are used', () => {
  const terms = tableRows(termsPage).map(([term]) => term);
  assert.ok(terms.length > 50, `${terms.length} terms`);
  const plain = terms.map((term) => term.replaceAll('`', '').toLowerCase());
  assert.deepEqual(
    plain,
    plain.toSorted((a, b) => a.localeCompare(b, 'en')),
  );
  const names = exportedNames();
  const missing = terms.filter((term) => term.startsWith('`') && !names.has(term.slice(1, -1)));
  assert.deepEqual(missing, ['`main`'], 'names that are not exported; main is a kernel');
  const sources = sourceFiles('src').map(({ text }) => text.toLowerCase());
  const unused = plain.filter((term) => {
    const words = new RegExp(`\\b${term.replaceAll(/[ -]/g, '[\\s*-]+')}`);
    return !sources.some((text) => words.test(text));
  });
  assert.deepEqual(unused, []);
});
