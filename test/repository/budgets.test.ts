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

test('the source has no `any`, no unfinished marks and no skipped tests', () => {
  const found: string[] = [];
  for (const { path, text } of [...sourceFiles('src'), ...sourceFiles('test')]) {
    const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    if (/\bas any\b|:\s*any\b|<any>/.test(code)) found.push(`${path}: any`);
    if (
      path.startsWith('src/') &&
      new RegExp(['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX'].join('|')).test(text)
    ) {
      found.push(`${path}: an unfinished mark`);
    }
    if (path.startsWith('test/') && /\b(test|it|describe)\.(only|todo)\(/.test(code)) {
      found.push(`${path}: a lone test`);
    }
  }
  assert.deepEqual(found, []);
});
