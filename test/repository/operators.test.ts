import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as operators from '../../src/ops/index.js';
import { registry } from '../../src/ops/registry.js';
import { sourceFiles } from '../support/sources.js';

/** The word as code, outside comments. */
function mentions(text: string, word: string): boolean {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  return new RegExp(`(?<![\\w$.])${word}(?![\\w$])`).test(code);
}

test('there are at least 120 operators', () => {
  assert.ok(registry.size >= 120, `there are ${registry.size}`);
});

test('no floor names an operator in a string: passes and printers ask facets, never names', () => {
  const found: string[] = [];
  const outside = sourceFiles('src').filter(
    (file) => !/^src\/(ops|loop|codegen|base)\//.test(file.path),
  );
  for (const name of registry.keys()) {
    for (const { path, text } of outside) {
      const compared = new RegExp(`(?:name\\s*[!=]==\\s*|get\\()['"\`]${name}['"\`]`);
      if (compared.test(text)) found.push(`${path} asks for ${name} by name`);
    }
  }
  assert.deepEqual(found, []);
});

test('an operator that nothing else is built from is named by one source file', () => {
  const files = sourceFiles('src');
  const distinctive = [
    'erf', 'lgamma', 'sinh', 'cosh', 'asinh', 'acosh', 'atanh', 'asin', 'acos', 'atan', 'atan2',
    'expm1', 'log1p', 'logsumexp', 'searchsorted', 'argmin', 'cumprod', 'topK', 'einsum',
  ]; // prettier-ignore
  for (const name of distinctive) {
    assert.ok(registry.has(name), `${name} is declared`);
    assert.equal(
      files.filter(({ text }) => mentions(text, name)).length,
      1,
      `${name} is named by one file`,
    );
  }
});

/** What users call besides operators: operators under names of their own. */
const compositions = [
  'avgPool1d', 'avgPool2d', 'avgPool3d', 'conv1d', 'conv2d', 'conv3d',
  'convTranspose1d', 'convTranspose2d', 'convTranspose3d',
  'dot', 'maxPool1d', 'maxPool2d', 'maxPool3d', 'outer', 'tensordot',
]; // prettier-ignore

test('users see operators, and nothing that operators are made of', () => {
  const others = Object.entries(operators).flatMap(([name, value]) =>
    'declaration' in value ? [] : [name],
  );
  assert.deepEqual(others.sort(), compositions);
});
