import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReuseWindow } from '../../../src/runtime/memory/reuse-window.js';

const MiB = 2 ** 20;

/** Lets arrays of 1 MiB come in; each is used once more when so many others have come in after it. */
function stream(window: ReuseWindow, count: number, distance: number, most = 2 ** 30): void {
  const arrivals: number[] = [];
  for (let k = 0; k < count; k++) {
    window.advance(MiB);
    arrivals.push(window.clock);
    if (k >= distance) window.use(arrivals[k - distance], MiB, most);
  }
}

test('the window covers what is used again, and little more', () => {
  for (const distance of [1, 20, 33, 100, 300, 700]) {
    const window = new ReuseWindow();
    stream(window, 1500, distance);
    assert.ok(window.bytes >= distance * MiB, `${distance}: ${window.bytes}`);
    assert.ok(window.bytes <= Math.max(16, 2 * distance) * MiB, `${distance}: ${window.bytes}`);
  }
});

test('uses that memory cannot serve, and uses that are rare, do not widen it', () => {
  const window = new ReuseWindow();
  stream(window, 1000, 300, 200 * MiB);
  assert.equal(window.bytes, 16 * MiB);
  // One array of 8 MiB for each 512 that come in.
  for (let k = 0; k < 20; k++) {
    const usedAt = window.clock;
    for (let i = 0; i < 512; i++) window.advance(MiB);
    window.use(usedAt, 8 * MiB, 2 ** 30);
  }
  assert.equal(window.bytes, 16 * MiB);
});

test('what was observed is forgotten when the program does something else', () => {
  const window = new ReuseWindow();
  stream(window, 1500, 500);
  assert.equal(window.bytes, 512 * MiB);
  stream(window, 6000, 10);
  assert.equal(window.bytes, 16 * MiB);
});
