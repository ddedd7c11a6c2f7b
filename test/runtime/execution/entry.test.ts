import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runnerFor } from '../../../src/runtime/execution/entry.js';

test('the interpreter is what is asked for: the definition, not code', () => {
  const interpreter = runnerFor({ target: 'interpreter' });
  for (const relaxed of [true, false]) {
    assert.equal(runnerFor({ target: 'interpreter', relaxed }), interpreter);
    assert.notEqual(runnerFor({ target: 'wasm', relaxed }), interpreter);
  }
});

test('code for strict WebAssembly never fuses products with sums', () => {
  const strict = runnerFor({ relaxed: false });
  assert.equal(runnerFor({ target: 'wasm', relaxed: false }), strict);
  assert.equal(strict.target.fusesMultiplyAdd, false);
  assert.equal(runnerFor({ target: 'interpreter' }).target.fusesMultiplyAdd, false);
});
