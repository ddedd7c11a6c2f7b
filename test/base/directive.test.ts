import assert from 'node:assert/strict';
import { test } from 'node:test';
import { convertedText } from '../../src/base/directive.js';

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
