import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Device } from '../../../src/runtime/memory/device.js';

test('memory is shared where there is somebody to share it with', () => {
  assert.equal(new Device({ threads: 1 }).isShared, false);
  const team = new Device({ threads: 2 });
  assert.equal(team.isShared, team.threads > 1);
  assert.equal(team.threads > 1, typeof SharedArrayBuffer === 'function');
});
