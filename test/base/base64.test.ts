import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromBase64, toBase64 } from '../../src/base/base64.js';
import { FormatError } from '../../src/base/errors.js';

test('bytes of every length travel as RFC 4648 says', () => {
  for (const length of [0, 1, 2, 3, 4, 255, 24_575, 24_576, 24_577, 100_000]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 97) >> 3);
    const text = toBase64(bytes);
    assert.equal(text, Buffer.from(bytes).toString('base64'));
    assert.deepEqual(fromBase64(text), bytes);
  }
});

test('other text is refused', () => {
  for (const text of ['A', 'AB', 'ABC', 'A===', 'AB=C', 'AAA\n', '====', 'AA-_', 'AAA=AAAA']) {
    assert.throws(() => fromBase64(text), FormatError, text);
  }
});
