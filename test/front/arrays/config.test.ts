import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as kn from '../../../src/index.js';

const { config } = kn;

interface Values {
  readonly accepted: readonly unknown[];
  readonly refused: readonly unknown[];
}

const values: Readonly<Record<keyof kn.Config, Values>> = {
  useStaticGraph: { accepted: [false, true], refused: [1, 'true', null] },
  tier: { accepted: ['wasm', 'auto', 'native'], refused: ['gpu', 1, undefined] },
  // More than one thread has to be wanted before the first array.
  threads: { accepted: [1], refused: [0, 1.5, -1, 10_000, 'all'] },
  memoryBudget: { accepted: [0, 2 ** 20, 2 ** 33], refused: [-1, NaN, Infinity, '1'] },
  device: { accepted: ['cpu'], refused: [1, null, ''] },
};

test('settings are listed like members of an object, and no others are there', () => {
  const names = Object.keys(values).sort();
  assert.deepEqual(Object.keys(config).sort(), names);
  assert.deepEqual(Object.keys({ ...config }).sort(), names);
  for (const name of names) {
    assert.ok(name in config);
    assert.deepEqual(Object.getOwnPropertyDescriptor(config, name), {
      value: config[name as keyof kn.Config],
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  for (const name of ['tiers', 'toString', Symbol.iterator]) {
    assert.equal(name in config, false);
    assert.equal((config as never)[name], undefined);
    assert.equal(Object.getOwnPropertyDescriptor(config, name), undefined);
  }
});

for (const [name, { accepted, refused }] of Object.entries(values)) {
  test(`config.${name} has the last value that it took, and keeps it where it refuses one`, () => {
    const target = config as unknown as Record<string, unknown>;
    const before = target[name];
    try {
      for (const value of accepted) {
        target[name] = value;
        assert.equal(target[name], value);
        assert.equal({ ...config }[name as keyof kn.Config], value);
        for (const wrong of refused) {
          assert.throws(() => (target[name] = wrong), (error) => {
            assert.ok(error instanceof kn.ArgumentError);
            assert.match(error.message, new RegExp(`config`));
            return true;
          }); // prettier-ignore
          assert.equal(target[name], value);
        }
      }
    } finally {
      target[name] = before;
    }
  });
}

test('a setting that there is none of is refused, with those that there are', () => {
  assert.throws(() => ((config as unknown as Record<string, unknown>)['tiers'] = 'wasm'), (error) => {
    assert.ok(error instanceof kn.ArgumentError);
    assert.match(error.message, /there is no setting tiers/);
    for (const name of Object.keys(values)) assert.ok(error.expected?.includes(name));
    return true;
  }); // prettier-ignore
});
