import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unreachable } from '../../src/base/unreachable.js';

test('a kind that no case knows is named', () => {
  const later = { kind: 'later' } as never;
  assert.throws(() => unreachable(later), {
    name: 'InternalError',
    message: /no case for later/,
  });
});
