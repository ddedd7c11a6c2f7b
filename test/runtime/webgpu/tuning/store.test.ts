import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeviceTuning } from '../../../../src/runtime/execution/device-tuning.js';
import { pageStore, TuningStore } from '../../../../src/runtime/webgpu/tuning/store.js';

/** A store with a text in it, and what it warned of. */
function storeOf(text: string | null): {
  readonly store: TuningStore;
  readonly warnings: string[];
  readonly written: string[];
} {
  const [warnings, written]: string[][] = [[], []];
  const store = new TuningStore(
    {
      read: () => written.at(-1) ?? text,
      write: (next) => void written.push(next),
    },
    (problem) => void warnings.push(problem),
  );
  return { store, warnings, written };
}

test('nothing stored is an empty tuning', () => {
  const { store, warnings } = storeOf(null);
  assert.deepEqual(store.load(), {});
  assert.deepEqual(warnings, []);
});

for (const text of ['', '{', 'null', '[]', '3', '{"a": 1}', '{"a": {"b": 2}}', '{"a": ["b"]}']) {
  test(`a damaged store is ignored with a warning, and replaced: ${text}`, () => {
    const { store, warnings, written } = storeOf(text);
    assert.deepEqual(store.load(), {});
    assert.match(warnings.join(), /damaged, and is ignored/);
    store.add('card', { a: 'b' });
    assert.deepEqual(JSON.parse(written[0]), { card: { a: 'b' } });
    assert.deepEqual(store.load(), { card: { a: 'b' } });
  });
}

test('a store that cannot be read or written is told once', () => {
  const warnings: string[] = [];
  const refuse = (): never => {
    throw new Error('no permission');
  };
  const store = new TuningStore(
    { read: refuse, write: refuse },
    (each) => void warnings.push(each),
  );
  assert.deepEqual(store.load(), {});
  store.add('card', { a: 'b' });
  store.add('card', { c: 'd' });
  assert.deepEqual(warnings, ['measurements of kernels cannot be stored: Error: no permission']);
});

test('a tuning is a record of records of names', () => {
  for (const right of [{}, { card: {} }, { card: { a: 'b' }, other: { c: 'd' } }]) {
    assert.ok(isDeviceTuning(right));
  }
  for (const wrong of [null, undefined, 'off', [], { card: null }, { card: { a: 1 } }]) {
    assert.ok(!isDeviceTuning(wrong));
  }
});

test('a page keeps what it may keep', () => {
  assert.equal(pageStore({}), null);
  const kept = new Map<string, string>();
  const localStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
  };
  const store = new TuningStore(pageStore({ localStorage })!, assert.fail);
  assert.deepEqual(store.load(), {});
  store.add('card', { a: 'b' });
  assert.deepEqual(store.load(), { card: { a: 'b' } });
  // As where a browser blocks the data of a site.
  const blocked = {
    get localStorage(): never {
      throw new Error('access is denied');
    },
  };
  const warnings: string[] = [];
  const none = new TuningStore(pageStore(blocked)!, (problem) => void warnings.push(problem));
  assert.deepEqual(none.load(), {});
  none.add('card', { a: 'b' });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /access is denied/);
});
