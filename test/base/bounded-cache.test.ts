import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { BoundedCache } from '../../src/base/bounded-cache.js';

describe('BoundedCache', () => {
  it('evicts the entry that was not used for the longest time', () => {
    const evicted: string[] = [];
    const cache = new BoundedCache<string, number>({
      capacity: 2,
      evicted: (key, value) => evicted.push(`${key}${value}`),
    });
    cache.set('a', 1);
    cache.set('b', 2);
    assert.equal(cache.get('a'), 1);
    cache.set('c', 3);
    assert.deepEqual(evicted, ['b2']);
    assert.equal(cache.get('b'), undefined);
    assert.equal(cache.get('a'), 1);
    assert.equal(cache.size, 2);
  });

  it('leaves an entry as old as it is when it is only looked at', () => {
    const cache = new BoundedCache<string, number>({ capacity: 2 });
    cache.set('a', 1);
    cache.set('b', 2);
    assert.equal(cache.peek('a'), 1);
    cache.set('c', 3);
    assert.equal(cache.peek('a'), undefined);
    assert.equal(cache.peek('b'), 2);
  });

  it('keeps what was set last, however much it costs', () => {
    const cache = new BoundedCache<string, string>({
      capacity: 3,
      cost: (_, value) => value.length,
    });
    cache.set('a', 'xx');
    cache.set('b', 'xxxxxxx');
    assert.equal(cache.get('a'), undefined);
    assert.equal(cache.get('b'), 'xxxxxxx');
    cache.set('c', 'x');
    assert.equal(cache.get('b'), undefined);
    assert.equal(cache.get('c'), 'x');
  });

  it('counts an entry that is replaced or deleted no more, and calls neither an eviction', () => {
    const evicted: string[] = [];
    const cache = new BoundedCache<string, number>({
      capacity: 10,
      cost: (_, value) => value,
      evicted: (key) => evicted.push(key),
    });
    cache.set('a', 9);
    cache.set('a', 1);
    cache.set('b', 9);
    cache.delete('b');
    cache.set('c', 9);
    cache.deleteWhere((value) => value === 1);
    assert.equal(cache.size, 1);
    cache.clear();
    cache.set('d', 10);
    assert.deepEqual(evicted, []);
    assert.equal(cache.get('d'), 10);
  });

  it('does what a list of entries does that is searched from its end', () => {
    const operations = fc.array(
      fc.record({ kind: fc.constantFrom('get', 'peek', 'set', 'delete'), key: fc.nat(5), value: fc.integer({ min: 1, max: 4 }) }), // prettier-ignore
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(operations, fc.integer({ min: 1, max: 8 }), (steps, capacity) => {
        const cache = new BoundedCache<number, number>({ capacity, cost: (_, value) => value });
        let list: [number, number][] = [];
        for (const { kind, key, value } of steps) {
          const found = list.find(([known]) => known === key);
          if (kind === 'get') {
            assert.equal(cache.get(key), found?.[1]);
            if (found !== undefined) list = [...list.filter((entry) => entry !== found), found];
          } else if (kind === 'peek') assert.equal(cache.peek(key), found?.[1]);
          else {
            list = list.filter((entry) => entry !== found);
            if (kind === 'delete') cache.delete(key);
            else {
              cache.set(key, value);
              list.push([key, value]);
              const cost = (): number => list.reduce((sum, [, each]) => sum + each, 0);
              while (cost() > capacity && list.length > 1) list.shift();
            }
          }
          assert.equal(cache.size, list.length);
        }
      }),
      { seed: 62 },
    );
  });

  it('values come from the least recently used to the most recently used', () => {
    const cache = new BoundedCache<string, number>({ capacity: 3 });
    ['a', 'b', 'c'].forEach((key, value) => cache.set(key, value));
    cache.get('a');
    cache.peek('b');
    assert.deepEqual([...cache.values()], [1, 2, 0]);
    cache.set('d', 3);
    assert.deepEqual([...cache.values()], [2, 0, 3]);
  });
});
