import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles } from '../support/sources.js';

const lines = (text: string): number => text.trimEnd().split('\n').length;

test('no source file is longer than 500 lines, and half are under 200', () => {
  const sizes = sourceFiles('src').map(({ path, text }) => ({ path, lines: lines(text) }));
  assert.deepEqual(
    sizes.filter((file) => file.lines > 500),
    [],
  );
  const sorted = sizes.map((file) => file.lines).sort((a, b) => a - b);
  assert.ok(sorted[sorted.length >> 1] < 200, `the median is ${sorted[sorted.length >> 1]} lines`);
});

/** The code without its comments. */
const code = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

test('the source has no `any` and no unfinished marks', () => {
  const found: string[] = [];
  for (const { path, text } of sourceFiles('src')) {
    if (/\bas any\b|:\s*any\b|<any>/.test(code(text))) found.push(`${path}: any`);
    if (/TODO|FIXME|XXX/.test(text)) found.push(`${path}: an unfinished mark`);
  }
  assert.deepEqual(found, []);
});

test('no test runs alone or waits to be written', () => {
  const lone = sourceFiles('test').filter(({ text }) =>
    /\b(test|it|describe)\.(only|todo)\(/.test(code(text)),
  );
  assert.deepEqual(lone, []);
});
