import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backendFor } from '../../../src/runtime/execution/entry.js';

test('the interpreter is what is asked for: the definition, not code', () => {
  const interpreter = backendFor({ target: 'interpreter' });
  for (const relaxed of [true, false]) {
    assert.equal(backendFor({ target: 'interpreter', relaxed }), interpreter);
    assert.notEqual(backendFor({ target: 'wasm', relaxed }), interpreter);
  }
});

test('code for strict WebAssembly never fuses products with sums', () => {
  const strict = backendFor({ relaxed: false });
  assert.equal(backendFor({ target: 'wasm', relaxed: false }), strict);
  assert.equal(strict.target.fusesMultiplyAdd, false);
  assert.equal(backendFor({ target: 'interpreter' }).target.fusesMultiplyAdd, false);
});
