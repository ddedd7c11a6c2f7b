import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertedText, mayHaveDirective } from '../../src/base/directive.js';

test('the directive of converted code tells of its branches and loops; other code has none', () => {
  assert.equal(
    convertedText("() => { 'use graph converted if 2:3 0 reads=x'; }"),
    'if 2:3 0 reads=x',
  );
  assert.equal(convertedText('() => { "use graph converted"; }'), '');
  for (const code of [
    "() => { 'use graph'; }",
    '() => { "use graph converted\'; }',
    'use graph converted',
  ]) {
    assert.equal(convertedText(code), null, code);
  }
});

test('code may have the directive wherever a statement may be, and not where only a string is', () => {
  for (const code of [
    "function f() { 'use graph'; }",
    'const f = () => { "use graph" }',
    "'use graph'",
    "function f() {'use strict';'use graph'}",
    "function f() { 'use strict' \n 'use graph'\n return 1; }",
    "function f() { /* why */ 'use graph' /* so */ }",
    "function f() { // why\r\n  'use graph' // so\n }",
    "f(); 'use graph';",
    "{} 'use graph';",
  ]) {
    assert.ok(mayHaveDirective(code), code);
  }
  for (const code of [
    "const directive = 'use graph';",
    "throw new Error(`the directive 'use graph' is missing`);",
    "node.value === 'use graph' && other",
    'const text = "convert it (\'use graph\')";',
    "function f() { 'use graph'.length; }",
    'function f() { "use graph converted"; }',
    'function f() { \'use graph"; }',
  ]) {
    assert.ok(!mayHaveDirective(code), code);
  }
});
